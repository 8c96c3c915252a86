package decode_test

import (
	"encoding/binary"
	"image"
)

// vp8lWriter writes the bits of a lossless WebP.
type vp8lWriter struct {
	out  []byte
	used int
}

// bits writes the n lowest bits of v, the lowest first.
func (w *vp8lWriter) bits(v, n int) {
	for range n {
		if w.used%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[len(w.out)-1] |= byte(v&1) << (w.used % 8)
		w.used++
		v >>= 1
	}
}

// bytesCode is a prefix code whose first 256 symbols take 8 bits each.
func (w *vp8lWriter) bytesCode(symbols int) {
	const codes, none, eight = 12, 2, 11 // of lengths: how many, and where 0 and 8 stand
	w.bits(0, 1)
	w.bits(codes-4, 4)
	for i := range codes {
		if i == none || i == eight {
			w.bits(1, 3)
		} else {
			w.bits(0, 3)
		}
	}
	w.bits(0, 1)
	for i := range symbols {
		if i < 256 {
			w.bits(1, 1)
		} else {
			w.bits(0, 1)
		}
	}
}

// zeroCodes are codes of one symbol, 0, that takes no bits.
func (w *vp8lWriter) zeroCodes(n int) {
	for range n {
		w.bits(1, 4)
	}
}

// byte writes a symbol of bytesCode.
func (w *vp8lWriter) byte(v int) {
	for i := range 8 {
		w.bits(v>>(7-i), 1)
	}
}

// manyGroups is the picture behind its size, with an entropy image of 1<<bits
// pixels a tile that names groups one after the other, step apart. All pixels are
// black and take no bits.
func manyGroups(size image.Point, bits, groups, step, cacheBits int) []byte {
	var w vp8lWriter
	w.bits(0, 1) // no transform
	if cacheBits > 0 {
		w.bits(1, 1)
		w.bits(cacheBits, 4)
	} else {
		w.bits(0, 1)
	}
	w.bits(1, 1)
	w.bits(bits-2, 3)
	w.bits(0, 1)
	w.bytesCode(256 + 24)
	w.bytesCode(256)
	w.zeroCodes(3)
	round := 1<<bits - 1
	for i := range (size.X + round) >> bits * ((size.Y + round) >> bits) {
		group := i % groups * step
		w.byte(group & 0xff)
		w.byte(group >> 8)
	}
	w.zeroCodes(5 * ((groups-1)*step + 1))
	return w.out
}

// vp8lOf is a VP8L chunk.
func vp8lOf(size image.Point, stream []byte) []byte {
	head := binary.LittleEndian.AppendUint32([]byte{0x2f}, uint32(size.X-1)|uint32(size.Y-1)<<14)
	return riffChunk("VP8L", append(head, stream...))
}
