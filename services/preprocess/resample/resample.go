// Package resample changes the size of pictures with Pillow's arithmetic: 22-bit
// fixed-point weights in two passes whose results are bytes, so that pixels equal
// Pillow's to the bit. It knows nothing of models, crops or orientation.
package resample

import "triptych/services/preprocess/pixels"

// Canvas is where RGB pixels go: the first row begins at Pix[0], the next one
// Stride bytes behind.
type Canvas struct {
	Pix    []byte
	Stride int
}

// RowsFirst tells which pass comes first for a picture of these upright axes: that
// over columns, unless the height shrinks by more than twice as many pixels as
// the width (so since Pillow 13). The order shows in the last bit.
func RowsFirst(columns, rows *Axis) bool {
	return rows.shrinks > 0 && rows.shrinks > 2*columns.shrinks
}

// Resize writes columns.Len() x rows.Len() pixels. The picture must hold what the
// axes' spans say. Memory between the passes is lent by pool.
func Resize(img *pixels.Image, columns, rows *Axis, rowsFirst bool, target Canvas, pool *pixels.Pool) {
	if columns.Len() == 0 || rows.Len() == 0 {
		return
	}
	if rowsFirst {
		resizeRowsFirst(img, columns, rows, target, pool)
		return
	}
	resizeColumnsFirst(img, columns, rows, target, pool)
}

func resizeColumnsFirst(img *pixels.Image, columns, rows *Axis, target Canvas, pool *pixels.Pool) {
	from, to := rows.Span()
	width := columns.Len() * pixels.Samples
	data, give := pool.Bytes((to - from) * width)
	defer give()
	between := Canvas{Pix: data, Stride: width}
	for y := from; y < to; y++ {
		resampleRow(img.Row(y), img.Bounds.Min.X, columns, between.Pix[(y-from)*width:][:width])
	}
	sums := make([]int32, width)
	for y, first := range rows.first {
		source := Canvas{Pix: between.Pix[(first-from)*width:], Stride: width}
		source.blend(rows.weights[y], sums, target.Pix[y*target.Stride:][:width])
	}
}

func resizeRowsFirst(img *pixels.Image, columns, rows *Axis, target Canvas, pool *pixels.Pool) {
	from, to := columns.Span()
	between, give := pool.Bytes(pixels.Samples * (to - from))
	defer give()
	sums := make([]int32, len(between))
	width := columns.Len() * pixels.Samples
	stride := img.Bounds.Dx() * pixels.Samples
	for y, first := range rows.first {
		at := (first-img.Bounds.Min.Y)*stride + (from-img.Bounds.Min.X)*pixels.Samples
		source := Canvas{Pix: img.Pix[at:], Stride: stride}
		source.blend(rows.weights[y], sums, between)
		resampleRow(between, from, columns, target.Pix[y*target.Stride:][:width])
	}
}

// resampleRow makes one row out of a row that begins at column from.
func resampleRow(row []byte, from int, columns *Axis, out []byte) {
	for x, first := range columns.first {
		r, g, b := int32(half), int32(half), int32(half)
		source := row[pixels.Samples*(first-from):]
		for _, weight := range columns.weights[x] {
			p := source[:3:3]
			r += weight * int32(p[0])
			g += weight * int32(p[1])
			b += weight * int32(p[2])
			source = source[3:]
		}
		p := out[pixels.Samples*x:][:pixels.Samples]
		p[0], p[1], p[2] = clip(r), clip(g), clip(b)
	}
}

// blend makes one row out of as many rows as there are weights. Sums is room to
// work in, as long as a row.
func (c Canvas) blend(weights []int32, sums []int32, out []byte) {
	for i := range sums {
		sums[i] = half
	}
	for k, weight := range weights {
		row := c.Pix[k*c.Stride:][:len(sums)]
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
