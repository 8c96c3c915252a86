package transform

import (
	"image"
	"math"
)

// window is a range of one axis of the resized image.
type window struct {
	in, out  int // the axis before and after resizing
	from, to int // what is wanted of it
}

// precision is the number of bits behind the point of a weight. With 8 bits of
// a sample and 2 for overshoot it fills 32.
const precision = 32 - 8 - 2

// axis holds, for each wanted position, where its source pixels begin and their
// weights.
type axis struct {
	first   []int
	weights [][]int32
	// shrinks is by how many pixels the whole axis gets shorter.
	shrinks int
}

// weights computes the axis as Pillow's precompute_coeffs and
// normalize_coeffs_8bpc do. An axis that keeps its size has weights of one.
func (w window) weights(k kernel) axis {
	a := axis{first: make([]int, w.to-w.from), weights: make([][]int32, w.to-w.from), shrinks: w.in - w.out}
	if w.in == w.out {
		one := []int32{1 << precision}
		for i := range a.first {
			a.first[i], a.weights[i] = w.from+i, one
		}
		return a
	}
	scale := float64(w.in) / float64(w.out)
	stretch := max(scale, 1)
	support := k.support * stretch
	raw := make([]float64, 2*int(math.Ceil(support))+1)
	flat := make([]int32, 0, len(a.first)*len(raw))
	for i := range a.first {
		center := (float64(w.from+i) + 0.5) * scale
		first := max(int(float64(center-support)+0.5), 0)
		count := min(int(float64(center+support)+0.5), w.in) - first
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
	return a
}

// fixed is a weight with precision bits, rounded half away from zero.
func fixed(v, total float64) int32 {
	if total != 0 {
		v /= total
	}
	return int32(math.Copysign(0.5, v) + float64(v*(1<<precision)))
}

// span is the range of source pixels that an axis needs.
func (a axis) span() (from, to int) {
	from, to = math.MaxInt, 0
	for i, first := range a.first {
		from, to = min(from, first), max(to, first+len(a.weights[i]))
	}
	return from, max(from, to)
}

// canvas is where RGB pixels go.
type canvas struct {
	pix    []byte
	stride int
}

// resample runs Pillow's two passes, whose results are bytes: columns first,
// unless the height shrinks by more than twice as many pixels as the width (so
// since Pillow 13). The order shows in the last bit.
func resample(img *image.NRGBA, columns, rows axis, target canvas) {
	if len(columns.first) == 0 || len(rows.first) == 0 {
		return
	}
	if rows.shrinks > 0 && rows.shrinks > 2*columns.shrinks {
		rowsFirst(img, columns, rows, target)
		return
	}
	columnsFirst(img, columns, rows, target)
}

func columnsFirst(img *image.NRGBA, columns, rows axis, target canvas) {
	from, to := rows.span()
	width := len(columns.first) * samples
	between := canvas{pix: make([]byte, (to-from)*width), stride: width}
	for y := from; y < to; y++ {
		at := img.PixOffset(img.Rect.Min.X, img.Rect.Min.Y+y)
		resampleRow(img.Pix[at:at+4*img.Rect.Dx()], 0, columns, between.pix[(y-from)*width:][:width])
	}
	sums := make([]int32, width)
	for y, first := range rows.first {
		source := canvas{pix: between.pix[(first-from)*width:], stride: width}
		source.blend(rows.weights[y], sums, target.pix[y*target.stride:][:width])
	}
}

func rowsFirst(img *image.NRGBA, columns, rows axis, target canvas) {
	from, to := columns.span()
	between := make([]byte, 4*(to-from))
	sums := make([]int32, len(between))
	width := len(columns.first) * samples
	for y, first := range rows.first {
		source := canvas{pix: img.Pix[img.PixOffset(img.Rect.Min.X+from, img.Rect.Min.Y+first):], stride: img.Stride}
		source.blend(rows.weights[y], sums, between)
		resampleRow(between, from, columns, target.pix[y*target.stride:][:width])
	}
}

// resampleRow makes one row of RGB out of a row of RGBA that begins at column
// from.
func resampleRow(row []byte, from int, columns axis, out []byte) {
	for x, first := range columns.first {
		r, g, b := int32(half), int32(half), int32(half)
		source := row[4*(first-from):]
		for _, weight := range columns.weights[x] {
			p := source[:4:4]
			r += weight * int32(p[0])
			g += weight * int32(p[1])
			b += weight * int32(p[2])
			source = source[4:]
		}
		p := out[samples*x:][:samples]
		p[0], p[1], p[2] = clip(r), clip(g), clip(b)
	}
}

// blend makes one row out of as many rows as there are weights. Sums is room to
// work in, as long as a row.
func (c canvas) blend(weights []int32, sums []int32, out []byte) {
	for i := range sums {
		sums[i] = half
	}
	for k, weight := range weights {
		row := c.pix[k*c.stride:][:len(sums)]
		for i, v := range row {
			sums[i] += weight * int32(v)
		}
	}
	for i, v := range sums {
		out[i] = clip(v)
	}
}

// half is one half in fixed point, so that cutting off rounds.
const half = 1 << (precision - 1)

// clip drops the bits behind the point and keeps the result in a byte.
func clip(v int32) byte { return byte(min(max(v>>precision, 0), 255)) }
