//go:build cgo && !portable

package decode

// #cgo pkg-config: libwebp
// #include <webp/decode.h>
// #include "webp_lib.h"
import "C"

import (
	"context"
	"fmt"
	"image"
	"runtime"
	"unsafe"

	"triptych/shared/failure"
)

// WebPDecoder names what decodes WebP in this build.
const WebPDecoder = "libwebp"

// The bytes per pixel that libwebp keeps beside the result. Of a lossy picture
// that is a few rows, and the plane of its alpha with what unpacks it.
const (
	webpLossyBytes    = 0
	webpAlphaBytes    = 1 + 4
	webpLosslessBytes = 4
)

// webpStep is how many bytes are decoded before the caller is looked after
// again: a few milliseconds' worth. Steps grow with what has been decoded, for
// libwebp begins the head of a lossless picture, which may be most of a file that
// is made for it, anew in each step.
const (
	webpStep   = 64 << 10
	webpGrowth = 4
)

// decodeWebP decodes a part of a still picture by libwebp. A file of few bytes
// is one step, however many pixels it has; the limits bound how long that takes.
func decodeWebP(ctx context.Context, s webpStill, part image.Rectangle, to webpRows) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	data := (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(s.data)))
	pin.Pin(data)
	task := &C.struct_triptych_webp_task{
		data: data, size: C.size_t(len(s.data)),
		width: C.int(s.size.X), height: C.int(s.size.Y),
		left: C.int(part.Min.X), top: C.int(part.Min.Y), columns: C.int(part.Dx()), rows: C.int(part.Dy()),
		pixels: (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(to.data))), room: C.size_t(len(to.data)),
		stride: C.int(to.stride),
	}
	if to.samples == webpRGBA {
		task.alpha = 1
	}
	pin.Pin(task.pixels)
	made := new(*C.struct_triptych_webp)
	if status := C.triptych_webp_begin(task, made); status != C.VP8_STATUS_OK {
		return webpFailure(status)
	}
	decoder := *made
	defer C.triptych_webp_end(decoder)
	for fed := 0; ; {
		fed = min(fed+max(webpStep, fed/webpGrowth), len(s.data))
		status := C.triptych_webp_feed(decoder, data, C.size_t(fed))
		if status != C.VP8_STATUS_SUSPENDED || fed == len(s.data) {
			return webpFailure(status)
		}
		if err := failure.OfContext(ctx); err != nil {
			return err
		}
	}
}

func webpFailure(status C.int) error {
	cause := fmt.Errorf("libwebp: status %d", int(status))
	switch status {
	case C.VP8_STATUS_OK:
		return nil
	case C.VP8_STATUS_NOT_ENOUGH_DATA, C.VP8_STATUS_SUSPENDED:
		return broken(cause, WebP, truncated)
	case C.VP8_STATUS_UNSUPPORTED_FEATURE:
		return unsupported(cause, WebP, "an unsupported feature")
	case C.VP8_STATUS_OUT_OF_MEMORY:
		return failure.Wrap(cause, failure.Internal, "there is not enough memory to decode the image")
	default:
		return broken(cause, WebP, corrupt)
	}
}
