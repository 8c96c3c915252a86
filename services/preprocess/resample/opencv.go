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

// interpolated resizes with OpenCV's arithmetic: the first pass keeps all bits.
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
		s0, s1 := line(first), line(second)
		out := w.target.Pix[y*w.target.Stride:][:width]
		for i := range out {
			out[i] = mix(b0, s0[i], b1, s1[i])
		}
	}
}

// interpolatedRowsFirst is for a picture that lies on its side: its rows are the
// upright picture's columns.
func (w work) interpolatedRowsFirst() {
	from, to := w.columns.Span()
	sums := make([]int32, pixels.Samples*(to-from))
	for y := range w.rows.first {
		first, second, a0, a1 := w.rows.pair(y)
		at := pixels.Samples * (from - w.img.Bounds.Min.X)
		upper, lower := w.img.Row(first)[at:][:len(sums)], w.img.Row(second)[at:][:len(sums)]
		for i := range sums {
			sums[i] = a0*int32(upper[i]) + a1*int32(lower[i])
		}
		out := w.target.Pix[y*w.target.Stride:]
		for x := range w.columns.first {
			first, second, b0, b1 := w.columns.pair(x)
			p, q := sums[pixels.Samples*(first-from):][:3], sums[pixels.Samples*(second-from):][:3]
			for c := range pixels.Samples {
				out[pixels.Samples*x+c] = mix(b0, p[c], b1, q[c])
			}
		}
	}
}

// across makes sums out of a row that begins at column from.
func (a *Axis) across(row []byte, from int, out []int32) {
	for x := range a.first {
		first, second, a0, a1 := a.pair(x)
		p, q := row[pixels.Samples*(first-from):][:3], row[pixels.Samples*(second-from):][:3]
		o := out[pixels.Samples*x:][:3]
		for c := range o {
			o[c] = a0*int32(p[c]) + a1*int32(q[c])
		}
	}
}

// pair is the two pixels that position i lies between, and their weights.
func (a *Axis) pair(i int) (first, second int, w0, w1 int32) {
	first = int(a.first[i])
	return first, first + int(a.count[i]) - 1, a.weights[2*i], a.weights[2*i+1]
}

// mix is the second pass, with the bits cut off that OpenCV's cuts off.
func mix(b0, s0, b1, s1 int32) byte {
	return byte((b0*(s0>>4)>>16 + b1*(s1>>4)>>16 + 2) >> 2)
}
