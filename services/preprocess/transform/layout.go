package transform

import (
	"math"

	"triptych/services/preprocess/pixels"
	"triptych/shared/oip"
)

// layout writes RGB pixels as the elements of a result. A sample of red, green or
// blue goes to its own offset, and from pixel to pixel by step: that covers planes
// and pixels, any order of channels, and grey, of which three equal samples go to
// one place.
type layout struct {
	offsets [pixels.Samples]int
	step    int
	// table holds the bits of the result for every value of a sample: one that is
	// computed once is as fast as any arithmetic, and exact.
	halves *[pixels.Samples][256]uint16
	floats *[pixels.Samples][256]uint32
	// plain tells that the result is the pixels themselves.
	plain bool
}

func newLayout(s Spec) layout {
	size := s.Element.size()
	l := layout{step: s.Colors.Count() * size, plain: s.Element == Uint8 && s.Layout == NHWC && s.Colors == RGB}
	apart := size
	if s.Layout == NCHW {
		l.step, apart = size, s.OutWidth*s.OutHeight*size
	}
	for sample := range pixels.Samples {
		l.offsets[sample] = s.Colors.place(sample) * apart
	}
	switch s.Element {
	case Float16:
		l.halves = new([pixels.Samples][256]uint16)
	case Float32:
		l.floats = new([pixels.Samples][256]uint32)
	default:
		return l
	}
	l.fill(s)
	return l
}

// fill computes in float32 after the scale, as torchvision's ToTensor and
// Normalize do. FP16 is that result, rounded half to even.
func (l *layout) fill(s Spec) {
	for sample := range pixels.Samples {
		channel := s.Colors.place(sample)
		mean, std := float32(s.Normalise.Mean[channel]), float32(s.Normalise.Std[channel])
		for v := range 256 {
			result := (float32(float64(v)*s.Normalise.Scale) - mean) / std
			if l.halves != nil {
				l.halves[sample][v] = oip.ToHalf(result)
			} else {
				l.floats[sample][v] = math.Float32bits(result)
			}
		}
	}
}
