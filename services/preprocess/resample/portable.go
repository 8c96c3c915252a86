package resample

import "triptych/services/preprocess/pixels"

// portable resizes in plain Go. It is what runs where there are no vector
// instructions, and what they are tested against.
func (w work) portable() {
	if w.rowsFirst {
		w.portableRowsFirst()
		return
	}
	w.portableColumnsFirst()
}

func (w work) portableColumnsFirst() {
	from, to := w.rows.Span()
	width := w.columns.Len() * pixels.Samples
	data, give := w.pool.Bytes((to - from) * width)
	defer give()
	for y := from; y < to; y++ {
		w.columns.resample(w.img.Row(y), w.img.Bounds.Min.X, data[(y-from)*width:][:width])
	}
	between := Canvas{Pix: data, Stride: width}
	sums := make([]int32, width)
	for y := range w.rows.first {
		w.rows.blend(y, between, from, sums, w.target.Pix[y*w.target.Stride:][:width])
	}
}

func (w work) portableRowsFirst() {
	from, to := w.columns.Span()
	between, give := w.pool.Bytes(pixels.Samples * (to - from))
	defer give()
	sums := make([]int32, len(between))
	width := w.columns.Len() * pixels.Samples
	bounds := w.img.Bounds
	source := Canvas{Pix: w.img.Pix[(from-bounds.Min.X)*pixels.Samples:], Stride: bounds.Dx() * pixels.Samples}
	for y := range w.rows.first {
		w.rows.blend(y, source, bounds.Min.Y, sums, between)
		w.columns.resample(between, from, w.target.Pix[y*w.target.Stride:][:width])
	}
}

// resample makes one row out of a row that begins at column from.
func (a *Axis) resample(row []byte, from int, out []byte) {
	for x, first := range a.first {
		source := row[pixels.Samples*(int(first)-from):]
		p := out[pixels.Samples*x:][:pixels.Samples]
		if a.picks {
			copy(p, source)
			continue
		}
		r, g, b := int32(half), int32(half), int32(half)
		for _, weight := range a.row(x) {
			p := source[:3:3]
			r += weight * int32(p[0])
			g += weight * int32(p[1])
			b += weight * int32(p[2])
			source = source[3:]
		}
		p[0], p[1], p[2] = clip(r), clip(g), clip(b)
	}
}

// blend makes row y of the result out of rows of a source that begins with row
// from. Sums is room to work in, as long as out.
func (a *Axis) blend(y int, source Canvas, from int, sums []int32, out []byte) {
	source.Pix = source.Pix[(int(a.first[y])-from)*source.Stride:]
	if a.picks {
		copy(out, source.Pix)
		return
	}
	for i := range sums {
		sums[i] = half
	}
	for k, weight := range a.row(y) {
		row := source.Pix[k*source.Stride:][:len(sums)]
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
