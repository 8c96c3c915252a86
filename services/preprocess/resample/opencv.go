package resample

import (
	"math"

	"triptych/services/preprocess/pixels"
)

// opencvPrecision is the number of bits behind the point of OpenCV's weights.
const opencvPrecision = 11

// interpolate computes the weights of OpenCV's INTER_LINEAR (resize.cpp, 8 bits a
// sample): two for each position, in single precision. Beyond the border both are
// of the border's pixel.
func (a *Axis) interpolate(s Side) {
	a.opencv = true
	a.allocate(s.To-s.From, 2)
	scale := 1 / (float64(s.Out) / float64(s.In))
	for i := range a.first {
		at := float32(float64((float64(s.From+i)+0.5)*scale) - 0.5)
		floor := math.Floor(float64(at))
		part := at - float32(floor)
		first, last := max(int(floor), 0), min(int(floor)+1, s.In-1)
		a.first[i], a.count[i] = int32(first), int32(last-first+1)
		a.weights[2*i], a.weights[2*i+1] = nearestEven(1-part), nearestEven(part)
	}
}

func nearestEven(weight float32) int32 {
	return int32(math.RoundToEven(float64(weight * (1 << opencvPrecision))))
}

// interpolated resizes with OpenCV's arithmetic: the first pass keeps 7 of the
// bits behind the point.
func (w work) interpolated() {
	if w.rowsFirst {
		w.interpolatedRowsFirst()
		return
	}
	width := w.columns.Len() * pixels.Samples
	lines := [2][]int32{make([]int32, width), make([]int32, width)}
	made := [2]int{-1, -1}
	line := func(y int) []int32 {
		if made[y%2] != y {
			w.columns.across(w.img.Row(y), w.img.Bounds.Min.X, lines[y%2])
			made[y%2] = y
		}
		return lines[y%2]
	}
	for y := range w.rows.first {
		first, second, b0, b1 := w.rows.pair(y)
		mixRow(b0, line(first), b1, line(second), w.target.Pix[y*w.target.Stride:][:width])
	}
}

// interpolatedRowsFirst is for a picture that lies on its side: its rows are the
// upright picture's columns.
func (w work) interpolatedRowsFirst() {
	from, to := w.columns.Span()
	sums := make([]int32, pixels.Samples*(to-from))
	at := pixels.Samples * (from - w.img.Bounds.Min.X)
	for y := range w.rows.first {
		first, second, a0, a1 := w.rows.pair(y)
		upper, lower := w.img.Row(first)[at:][:len(sums)], w.img.Row(second)[at:][:len(sums)]
		for i := range sums {
			sums[i] = weigh2(a0, upper[i], a1, lower[i])
		}
		out := w.target.Pix[y*w.target.Stride:]
		for x := range w.columns.first {
			first, second, b0, b1 := w.columns.pair(x)
			p, q := sums[pixels.Samples*(first-from):][:3], sums[pixels.Samples*(second-from):][:3]
			mixRow(b0, p, b1, q, out[pixels.Samples*x:][:3])
		}
	}
}

// across makes sums out of a row that begins at column from.
func (a *Axis) across(row []byte, from int, out []int32) {
	for x := range a.first {
		first, second, a0, a1 := a.pair(x)
		p, q := row[pixels.Samples*(first-from):][:3:3], row[pixels.Samples*(second-from):][:3:3]
		o := out[:3:3]
		o[0], o[1], o[2] = weigh2(a0, p[0], a1, q[0]), weigh2(a0, p[1], a1, q[1]), weigh2(a0, p[2], a1, q[2])
		out = out[3:]
	}
}

// pair is the two pixels that position i lies between, and their weights.
func (a *Axis) pair(i int) (first, second int, w0, w1 int32) {
	first = int(a.first[i])
	return first, first + int(a.count[i]) - 1, a.weights[2*i], a.weights[2*i+1]
}

func weigh2(w0 int32, p byte, w1 int32, q byte) int32 { return (w0*int32(p) + w1*int32(q)) >> 4 }

// mixRow is the second pass, with the bits cut off that OpenCV's cuts off.
func mixRow(b0 int32, s0 []int32, b1 int32, s1 []int32, out []byte) {
	s0, s1 = s0[:len(out)], s1[:len(out)]
	for i := range out {
		out[i] = byte((b0*s0[i]>>16 + b1*s1[i]>>16 + 2) >> 2)
	}
}
