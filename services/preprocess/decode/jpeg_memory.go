package decode

import (
	"iter"

	"triptych/services/preprocess/pixels"
)

// A block is 8x8 samples.
const jpegBlock = 8

// jpegPlane is a component in blocks, as decoders lay it out: in whole units of
// blocks.
type jpegPlane struct{ columns, rows int64 }

func (p jpegPlane) samples() int64 { return p.columns * p.rows * jpegBlock * jpegBlock }

// factors are the largest sampling factors.
func (f *jpegFrame) factors() (h, v int) {
	h, v = 1, 1
	for _, c := range f.components {
		h, v = max(h, c.h), max(v, c.v)
	}
	return h, v
}

// planes are the components. Their sampling factors may be anything.
func (f *jpegFrame) planes() iter.Seq2[jpegComponent, jpegPlane] {
	hmax, vmax := f.factors()
	return func(yield func(jpegComponent, jpegPlane) bool) {
		for _, c := range f.components {
			if !yield(c, jpegPlane{columns: jpegUnits(f.width, c.h, hmax), rows: jpegUnits(f.height, c.v, vmax)}) {
				return
			}
		}
	}
}

// jpegUnits is how many blocks a side of a component has, rounded up to a
// multiple of its sampling factor.
func jpegUnits(side, factor, most int) int64 {
	blocks := (int64(side)*int64(factor) + int64(most)*jpegBlock - 1) / (int64(most) * jpegBlock)
	factor = max(factor, 1)
	return (blocks + int64(factor) - 1) / int64(factor) * int64(factor)
}

// coefficients is how many of them are kept: none if they can be used up as they
// come.
func (f *jpegFrame) coefficients() int64 {
	if f.wholeScan() {
		return 0
	}
	var n int64
	for _, p := range f.planes() {
		n += p.samples()
	}
	return n
}

// area is the bytes of the pixels as they are handed out.
func (f *jpegFrame) area() int64 { return pixels.Samples * int64(f.width) * int64(f.height) }
