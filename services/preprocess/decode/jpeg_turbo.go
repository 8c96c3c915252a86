//go:build cgo && !portable

package decode

// #cgo pkg-config: libjpeg
// #include "jpeg_turbo.h"
import "C"

import (
	"errors"
	"unsafe"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// JPEGDecoder names what decodes JPEG in this build.
const JPEGDecoder = "libjpeg-turbo"

// What libjpeg-turbo keeps beside the result: samples of a few rows only, and
// coefficients as int16.
const (
	jpegResultBytes      = 3
	jpegSampleBytes      = 0
	jpegCoefficientBytes = 2
)

// decodeJPEG decodes by libjpeg-turbo, with the settings that Pillow uses: exact
// integer DCT and smooth upsampling of chroma.
func decodeJPEG(j job, data []byte, width, height int) (*pixels.Image, error) {
	img := j.pool.Whole(width, height)
	var message [C.TRIPTYCH_JPEG_MESSAGE]C.char
	status := C.triptych_jpeg_decode(
		(*C.uchar)(unsafe.Pointer(unsafe.SliceData(data))), C.size_t(len(data)),
		(*C.uchar)(unsafe.Pointer(unsafe.SliceData(img.Pix))), C.uint(width), C.uint(height), &message[0])
	if status == C.TRIPTYCH_JPEG_OK {
		return img, nil
	}
	img.Release()
	cause := errors.New("libjpeg: " + C.GoString(&message[0]))
	switch status {
	case C.TRIPTYCH_JPEG_TRUNCATED:
		return nil, broken(cause, JPEG, truncated)
	case C.TRIPTYCH_JPEG_UNSUPPORTED:
		return nil, unsupported(cause, JPEG, "a feature or an encoding beyond the common ones")
	case C.TRIPTYCH_JPEG_SCANS:
		return nil, unsupported(cause, JPEG, "more than 100 scans")
	case C.TRIPTYCH_JPEG_MEMORY:
		return nil, failure.Wrap(cause, failure.Internal, "there is not enough memory to decode the image")
	default:
		return nil, broken(cause, JPEG, corrupt)
	}
}
