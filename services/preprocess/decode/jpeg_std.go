//go:build !cgo || portable

package decode

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"slices"

	"triptych/services/preprocess/pixels"
)

// JPEGDecoder names what decodes JPEG in this build.
const JPEGDecoder = "image/jpeg"

// What image/jpeg keeps: whole planes of samples, and coefficients as int32.
const (
	jpegResultBytes      = 7 // RGBA on the way to RGB
	jpegSampleBytes      = 1
	jpegCoefficientBytes = 4
)

// decodeJPEG decodes by Go's own decoder, for builds without C libraries. It
// reads fewer files than libjpeg-turbo does, and its pixels differ a little.
func decodeJPEG(j job, data []byte, width, height int) (*pixels.Image, error) {
	img, err := jpeg.Decode(bytes.NewReader(data))
	if end := []byte{0xff, markerEOI}; err != nil && !bytes.HasSuffix(data, end) {
		// A file that lacks only its last marker has all its pixels.
		if whole, retried := jpeg.Decode(bytes.NewReader(slices.Concat(data, end))); retried == nil {
			img, err = whole, nil
		}
	}
	var feature jpeg.UnsupportedError
	switch {
	case errors.As(err, &feature):
		return nil, unsupported(err, JPEG, "a feature or an encoding beyond the common ones")
	case err != nil:
		return nil, brokenBy(err, JPEG)
	case img.Bounds() != image.Rect(0, 0, width, height):
		return nil, broken(nil, JPEG, corrupt)
	}
	return j.picture(img)
}
