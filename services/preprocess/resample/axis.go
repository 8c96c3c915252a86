package resample

import (
	"math"
	"slices"

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
	// Mirrored is for a source whose pixels are stored from the other end: the
	// result is the same, and is read from the mirrored side.
	Mirrored bool
}

// precision is the number of bits behind the point of a weight. With 8 bits of
// a sample and 2 for overshoot it fills 32.
const precision = 32 - 8 - 2

// Axis holds, for each wanted position of a side, where its source pixels begin
// and their weights. It does not change and is safe for concurrent use.
type Axis struct {
	// first and count are the source pixels of each position. Its weights are
	// count[i] numbers from weights[i*taps] on; zeros follow.
	first, count, weights []int32
	taps                  int
	// picks tells that each position is one source pixel as it is. Such an axis
	// has no weights.
	picks bool
	// opencv tells that weights are OpenCV's: two for each position.
	opencv bool
	in     int
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
	case s.In < 1 || s.Out < 1 || s.From < 0 || s.To < s.From || s.To > s.Out || max(s.In, s.Out) > math.MaxInt32:
		return nil, failure.New(failure.Invalid, "a side of %d pixels can't become %d, of which %d to %d are wanted", s.In, s.Out, s.From, s.To)
	}
	a := &Axis{in: s.In, shrinks: s.In - s.Out}
	switch {
	case s.Filter == OpenCVLinear:
		a.interpolate(s)
	case s.In == s.Out:
		a.keep(s)
	case s.Filter == Nearest:
		a.pick(s)
	default:
		a.weigh(s, k)
	}
	if s.Mirrored {
		a.mirror()
	}
	return a, nil
}

// allocate makes room for n positions of so many weights.
func (a *Axis) allocate(n, taps int) {
	room := make([]int32, n*(2+taps))
	a.first, a.count, a.weights, a.taps = room[:n:n], room[n:2*n:2*n], room[2*n:], taps
}

// keep takes every source pixel as it is.
func (a *Axis) keep(s Side) {
	a.picks = true
	a.allocate(s.To-s.From, 0)
	for i := range a.first {
		a.first[i], a.count[i] = int32(s.From+i), 1
	}
}

// pick takes one source pixel for each position. As in Pillow
// (ImagingScaleAffine), the place is a running sum, whose rounding errors are
// part of the result.
func (a *Axis) pick(s Side) {
	a.picks = true
	a.allocate(s.To-s.From, 0)
	step := float64(s.In) / float64(s.Out)
	at := step * 0.5
	for i := range s.To {
		if i >= s.From {
			a.first[i-s.From], a.count[i-s.From] = int32(min(int(at), s.In-1)), 1
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
	support, squeeze := k.support*stretch, 1/stretch
	a.allocate(s.To-s.From, min(2*int(math.Ceil(support))+1, s.In))
	var few [64]float64 // enough for photographs, without an allocation
	raw := few[:]
	if a.taps > len(few) {
		raw = make([]float64, a.taps)
	}
	for i := range a.first {
		center := (float64(s.From+i) + 0.5) * scale
		first := max(int(float64(center-support)+0.5), 0)
		last := min(int(float64(center+support)+0.5), s.In)
		a.first[i], a.count[i] = int32(first), int32(last-first)
		weights, raw, total := a.row(i), raw[:last-first], 0.0
		for j := range raw {
			raw[j] = k.weight((float64(j+first) - center + 0.5) * squeeze)
			total += raw[j]
		}
		for j, v := range raw {
			weights[j] = fixed(v, total)
		}
	}
}

// fixed is a weight with precision bits, rounded half away from zero.
func fixed(v, total float64) int32 {
	if total != 0 {
		v /= total
	}
	return int32(math.Copysign(0.5, v) + float64(v*(1<<precision)))
}

// row is the weights of position i.
func (a *Axis) row(i int) []int32 { return a.weights[i*a.taps:][:a.count[i]] }

// Span is the range of source pixels that the axis needs.
func (a *Axis) Span() (from, to int) {
	from, to = math.MaxInt, 0
	for i, first := range a.first {
		from, to = min(from, int(first)), max(to, int(first+a.count[i]))
	}
	return min(from, to), to
}

// Len is how many positions are wanted.
func (a *Axis) Len() int { return len(a.first) }

// mirror turns the source round, not the result.
func (a *Axis) mirror() {
	for i, first := range a.first {
		a.first[i] = int32(a.in) - first - a.count[i]
		if !a.picks {
			slices.Reverse(a.row(i))
		}
	}
}
