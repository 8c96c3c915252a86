//go:build cgo && !portable && (amd64 || arm64)

package resample

// #include "vector.h"
import "C"

import (
	"unsafe"

	"triptych/services/preprocess/pixels"
)

// The instructions to compute with. Best are those that the CPU has.
const (
	best = C.TRIPTYCH_BEST
	avx2 = C.TRIPTYCH_AVX2
	neon = C.TRIPTYCH_NEON
)

// vector resizes by vector instructions. It is false, and nothing is done, if the
// CPU lacks them.
func (w work) vector(instructions C.int) bool {
	if !w.fits() {
		return false
	}
	bounds := w.img.Bounds
	r := C.triptych_resizing{
		picture: C.triptych_picture{
			pix:  (*C.uint8_t)(unsafe.SliceData(w.img.Pix)),
			left: C.int32_t(bounds.Min.X), top: C.int32_t(bounds.Min.Y),
			width: C.int32_t(bounds.Dx()), height: C.int32_t(bounds.Dy()),
		},
		columns: w.columns.c(), rows: w.rows.c(),
		target: (*C.uint8_t)(unsafe.SliceData(w.target.Pix)), stride: C.ptrdiff_t(w.target.Stride),
	}
	if w.rowsFirst {
		r.rows_first = 1
	}
	n := int(C.triptych_scratch(r, instructions))
	if n == 0 {
		return false
	}
	scratch, give := w.pool.Bytes(n)
	defer give()
	C.triptych_resize(r, instructions, unsafe.Pointer(unsafe.SliceData(scratch)))
	return true
}

// fits tells whether all that is read and written is there, for C does not
// notice. Where it isn't, Go does.
func (w work) fits() bool {
	left, right := w.columns.Span()
	top, bottom := w.rows.Span()
	b := w.img.Bounds
	last := (w.rows.Len()-1)*w.target.Stride + w.columns.Len()*pixels.Samples
	return left >= b.Min.X && right <= b.Max.X && top >= b.Min.Y && bottom <= b.Max.Y &&
		len(w.img.Pix) >= b.Dx()*b.Dy()*pixels.Samples && w.target.Stride >= w.columns.Len()*pixels.Samples && len(w.target.Pix) >= last
}

// c is the axis as C sees it.
func (a *Axis) c() C.triptych_axis {
	axis := C.triptych_axis{
		first: (*C.int32_t)(unsafe.SliceData(a.first)), count: (*C.int32_t)(unsafe.SliceData(a.count)),
		length: C.ptrdiff_t(len(a.first)), taps: C.ptrdiff_t(a.taps),
	}
	if !a.picks {
		axis.weights = (*C.int32_t)(unsafe.SliceData(a.weights))
	}
	return axis
}
