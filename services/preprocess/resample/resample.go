// Package resample changes the size of pictures with Pillow's arithmetic: 22-bit
// fixed-point weights in two passes whose results are bytes, so that pixels equal
// Pillow's to the bit, on whatever instructions they are computed. It knows
// nothing of models, crops or orientation.
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
// the width (so since Pillow 13). The order shows in the last bit. OpenCV has
// columns first always.
func RowsFirst(columns, rows *Axis) bool {
	return !columns.opencv && rows.shrinks > 0 && rows.shrinks > 2*columns.shrinks
}

// Resize writes columns.Len() x rows.Len() pixels. The picture must hold what the
// axes' spans say. Both axes are OpenCVLinear's or none is. Memory between the passes is lent by pool.
func Resize(img *pixels.Image, columns, rows *Axis, rowsFirst bool, target Canvas, pool *pixels.Pool) {
	if columns.Len() == 0 || rows.Len() == 0 {
		return
	}
	w := newWork(img, columns, rows, rowsFirst, target, pool)
	if columns.opencv {
		w.interpolated()
		return
	}
	if !w.vector(best) {
		w.portable()
	}
}

// work is one picture to resize.
type work struct {
	img           *pixels.Image
	columns, rows *Axis
	rowsFirst     bool
	target        Canvas
	pool          *pixels.Pool
}

// newWork chooses the order where it makes no difference: a pass that only picks
// pixels rounds nothing. It is cheapest with rows first.
func newWork(img *pixels.Image, columns, rows *Axis, rowsFirst bool, target Canvas, pool *pixels.Pool) work {
	return work{
		img: img, columns: columns, rows: rows, rowsFirst: rowsFirst || columns.picks || rows.picks, target: target, pool: pool,
	}
}
