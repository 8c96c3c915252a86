package resample

import (
	"math"

	"triptych/shared/failure"
)

// Side says how one side of a picture is resized and what is wanted of it.
type Side struct {
	In, Out  int // its length before and after
	From, To int // the wanted positions of the result
	Filter   Filter
	// Aliased keeps the filter at the size of a source pixel when the side
	// shrinks, as libraries without antialiasing do.
	Aliased bool
}

// precision is the number of bits behind the point of a weight. With 8 bits of
// a sample and 2 for overshoot it fills 32.
const precision = 32 - 8 - 2

// Axis holds, for each wanted position of a side, where its source pixels begin
// and their weights. It is not changed once it is made, but by Mirror.
type Axis struct {
	first   []int
	weights [][]int32
	in      int
	// shrinks is by how many pixels the whole side gets shorter.
	shrinks int
}

// NewAxis computes the weights of a side. An unknown filter or a side without
// pixels is Invalid.
func NewAxis(s Side) (*Axis, error) {
	k, ok := kernels[s.Filter]
	switch {
	case !ok:
		return nil, failure.New(failure.Invalid, "unknown filter %q", s.Filter)
	case s.In < 1 || s.Out < 1 || s.From < 0 || s.To < s.From || s.To > s.Out:
		return nil, failure.New(failure.Invalid, "a side of %d pixels can't become %d, of which %d to %d are wanted", s.In, s.Out, s.From, s.To)
	}
	count := s.To - s.From
	a := &Axis{first: make([]int, count), weights: make([][]int32, count), in: s.In, shrinks: s.In - s.Out}
	switch {
	case s.In == s.Out:
		for i := range a.first {
			a.first[i], a.weights[i] = s.From+i, one
		}
	case s.Filter == Nearest:
		a.pick(s)
	default:
		a.weigh(s, k)
	}
	return a, nil
}

// one is the weight of a pixel that is taken as it is.
var one = []int32{1 << precision}

// pick takes one source pixel for each position. As in Pillow
// (ImagingScaleAffine), the place is a running sum, whose rounding errors are
// part of the result.
func (a *Axis) pick(s Side) {
	step := float64(s.In) / float64(s.Out)
	at := step * 0.5
	for i := range s.To {
		if i >= s.From {
			a.first[i-s.From], a.weights[i-s.From] = min(int(at), s.In-1), one
		}
		at += step
	}
}

// weigh computes weights as Pillow's precompute_coeffs and normalize_coeffs_8bpc
// do.
func (a *Axis) weigh(s Side, k kernel) {
	scale := float64(s.In) / float64(s.Out)
	stretch := max(scale, 1)
	if s.Aliased {
		stretch = 1
	}
	support := k.support * stretch
	raw := make([]float64, 2*int(math.Ceil(support))+1)
	flat := make([]int32, 0, len(a.first)*len(raw))
	for i := range a.first {
		center := (float64(s.From+i) + 0.5) * scale
		first := max(int(float64(center-support)+0.5), 0)
		count := min(int(float64(center+support)+0.5), s.In) - first
		total := 0.0
		for j := range count {
			raw[j] = k.weight((float64(j+first) - center + 0.5) * (1 / stretch))
			total += raw[j]
		}
		for _, v := range raw[:count] {
			flat = append(flat, fixed(v, total))
		}
		a.first[i], a.weights[i] = first, flat[len(flat)-count:]
	}
}

// fixed is a weight with precision bits, rounded half away from zero.
func fixed(v, total float64) int32 {
	if total != 0 {
		v /= total
	}
	return int32(math.Copysign(0.5, v) + float64(v*(1<<precision)))
}

// Span is the range of source pixels that the axis needs.
func (a *Axis) Span() (from, to int) {
	from, to = math.MaxInt, 0
	for i, first := range a.first {
		from, to = min(from, first), max(to, first+len(a.weights[i]))
	}
	return min(from, to), to
}

// Len is how many positions are wanted.
func (a *Axis) Len() int { return len(a.first) }

// Mirror makes the axis one of the same side seen from its other end: position 0
// of the result stays what it shows, and reads its source from the mirrored
// side.
func (a *Axis) Mirror() {
	for i, first := range a.first {
		w := a.weights[i]
		a.first[i] = a.in - first - len(w)
		mirrored := make([]int32, len(w))
		for j, v := range w {
			mirrored[len(w)-1-j] = v
		}
		a.weights[i] = mirrored
	}
}
