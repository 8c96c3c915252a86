//go:build cgo && !portable

package decode

/*
#cgo pkg-config: libwebp
#include <webp/decode.h>

static int triptych_webp_decode(const uint8_t *data, size_t size, uint8_t *pixels, int width, int height)
{
	WebPDecoderConfig config;
	VP8StatusCode status;

	if (!WebPInitDecoderConfig(&config))
		return VP8_STATUS_INVALID_PARAM;
	status = WebPGetFeatures(data, size, &config.input);
	if (status != VP8_STATUS_OK)
		return status;
	if (config.input.width != width || config.input.height != height)
		return VP8_STATUS_BITSTREAM_ERROR;
	config.output.colorspace = MODE_RGBA;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = pixels;
	config.output.u.RGBA.stride = width * 4;
	config.output.u.RGBA.size = (size_t)width * height * 4;
	status = WebPDecode(data, size, &config);
	WebPFreeDecBuffer(&config.output);
	return status;
}
*/
import "C"

import (
	"fmt"
	"image"
	"unsafe"

	"triptych/shared/failure"
)

// WebPDecoder names what decodes WebP in this build.
const WebPDecoder = "libwebp"

// decodeWebP decodes a still image by libwebp.
func decodeWebP(data []byte, width, height int) (*image.NRGBA, error) {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	status := C.triptych_webp_decode(
		(*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(data))), C.size_t(len(data)),
		(*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(img.Pix))), C.int(width), C.int(height))
	cause := fmt.Errorf("libwebp: status %d", int(status))
	switch status {
	case C.VP8_STATUS_OK:
		return img, nil
	case C.VP8_STATUS_NOT_ENOUGH_DATA, C.VP8_STATUS_SUSPENDED:
		return nil, broken(cause, WebP, truncated)
	case C.VP8_STATUS_UNSUPPORTED_FEATURE:
		return nil, unsupported(cause, WebP, "an unsupported feature")
	case C.VP8_STATUS_OUT_OF_MEMORY:
		return nil, failure.Wrap(cause, failure.Internal, "there is not enough memory to decode the image")
	default:
		return nil, broken(cause, WebP, corrupt)
	}
}
