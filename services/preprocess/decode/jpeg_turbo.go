//go:build cgo && !portable

package decode

// #cgo pkg-config: libjpeg
// #include "jpeg_turbo.h"
import "C"

import (
	"context"
	"errors"
	"image"
	"slices"
	"sync/atomic"
	"unsafe"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// JPEGDecoder names what decodes JPEG in this build.
const JPEGDecoder = "libjpeg-turbo"

// jpegReductions are those that libjpeg-turbo and Pillow have in common.
var jpegReductions = []int{2, 4, 8}

// memory is the result, the rows that libjpeg-turbo works on, and the
// coefficients, as int16, of a file of many scans. What does not grow with the
// picture, some 30 kB, is left out.
func (f *jpegFrame) memory() int64 {
	const coefficient = 2
	_, vmax := f.factors()
	total := f.area() + coefficient*f.coefficients()
	for c, p := range f.planes() {
		const rows = jpegBlock + 2 // of a unit, and a neighbor on both sides
		total += p.columns * jpegBlock * rows * int64(c.v)
		total += 2 * int64(f.width) * int64(vmax) // upsampled, and on the way out
	}
	return total
}

// jpegCall is what Go and C share for one decode.
type jpegCall struct {
	view    C.struct_triptych_jpeg_view
	stop    atomic.Uint32 // not 0 when the decode is to end
	message [C.TRIPTYCH_JPEG_MESSAGE]C.char
}

// decodeJPEG decodes by libjpeg-turbo, with the settings that Pillow uses: exact
// integer DCT and smooth upsampling of chroma. It gives the wanted region, whose
// pixels are those of a whole decode.
func decodeJPEG(j job, data []byte, f *jpegFrame) (*pixels.Image, error) {
	size, region, err := j.jpegRegion(f)
	if err != nil {
		return nil, err
	}
	call := &jpegCall{view: C.struct_triptych_jpeg_view{
		width: C.uint(f.width), height: C.uint(f.height), coefficients: C.uint64_t(2 * f.coefficients()),
		reduce: C.uint(j.view.Reduce), left: C.uint(region.Min.X), top: C.uint(region.Min.Y),
		right: C.uint(region.Max.X), bottom: C.uint(region.Max.Y),
	}}
	if j.ctx.Done() != nil {
		defer context.AfterFunc(j.ctx, func() { call.stop.Store(1) })()
	}
	img := j.pool.Image(size, region)
	status := C.triptych_jpeg_decode(
		(*C.uchar)(unsafe.Pointer(unsafe.SliceData(data))), C.size_t(len(data)), &call.view,
		(*C.uchar)(unsafe.Pointer(unsafe.SliceData(img.Pix))), (*C.uint32_t)(unsafe.Pointer(&call.stop)), &call.message[0])
	if status == C.TRIPTYCH_JPEG_OK {
		return img, nil
	}
	img.Release()
	return nil, j.jpegFailure(status, errors.New("libjpeg: "+C.GoString(&call.message[0])))
}

// jpegRegion is the size of the reduced picture and what is wanted of it.
func (j job) jpegRegion(f *jpegFrame) (size image.Point, region image.Rectangle, err error) {
	if j.view.Reduce != 1 && !slices.Contains(jpegReductions, j.view.Reduce) {
		return size, region, failure.New(failure.Internal, "a JPEG image can't be divided by %d", j.view.Reduce)
	}
	up := j.view.Reduce - 1
	size = image.Pt((f.width+up)/j.view.Reduce, (f.height+up)/j.view.Reduce)
	region = j.view.Region.Intersect(image.Rectangle{Max: size})
	if region.Empty() {
		return size, region, failure.New(failure.Internal, "the region %v is outside of the image", j.view.Region)
	}
	return size, region, nil
}

func (j job) jpegFailure(status C.int, cause error) error {
	switch status {
	case C.TRIPTYCH_JPEG_STOPPED:
		return failure.OfContext(j.ctx)
	case C.TRIPTYCH_JPEG_TRUNCATED:
		return broken(cause, JPEG, truncated)
	case C.TRIPTYCH_JPEG_UNSUPPORTED:
		return unsupported(cause, JPEG, "a feature or an encoding beyond the common ones")
	case C.TRIPTYCH_JPEG_SCANS:
		return unsupported(cause, JPEG, "too many scans for its size")
	case C.TRIPTYCH_JPEG_MEMORY:
		return failure.Wrap(cause, failure.Internal, "there is not enough memory to decode the image")
	default:
		return broken(cause, JPEG, corrupt)
	}
}
