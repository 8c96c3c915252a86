//go:build !cgo || portable

package decode

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"slices"

	"github.com/disintegration/imaging"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// JPEGDecoder names what decodes JPEG in this build.
const JPEGDecoder = "image/jpeg"

// jpegReductions is empty: image/jpeg does not reduce.
var jpegReductions []int

// memory is the result, whole planes of samples, the coefficients of a
// progressive file as int32, and RGBA or CMYK where image/jpeg makes that of the
// planes.
func (f *jpegFrame) memory() int64 {
	const packed, coefficient = 4, 4
	total := f.area() + coefficient*f.coefficients()
	for _, p := range f.planes() {
		total += p.samples()
	}
	if !f.jfif || len(f.components) == 4 {
		total += packed * int64(f.width) * int64(f.height)
	}
	return total
}

// decodeJPEG decodes by Go's own decoder, for builds without C libraries. It
// reads fewer files than libjpeg-turbo does, and its pixels differ a little.
func decodeJPEG(j job, data []byte, f *jpegFrame) (*pixels.Image, error) {
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
	case img.Bounds() != image.Rect(0, 0, f.width, f.height):
		return nil, broken(nil, JPEG, corrupt)
	}
	return j.bands(img)
}

// bands converts a picture a few rows at a time, so that there is never a whole
// one as RGBA.
func (j job) bands(img image.Image) (*pixels.Image, error) {
	const rows = 64
	parts, ok := img.(interface {
		SubImage(r image.Rectangle) image.Image
	})
	if !ok {
		return nil, broken(nil, JPEG, corrupt)
	}
	size := img.Bounds().Size()
	out := j.pool.Whole(size.X, size.Y)
	for top := 0; top < size.Y; top += rows {
		band := imaging.Clone(parts.SubImage(image.Rect(0, top, size.X, min(top+rows, size.Y))))
		for y := range band.Rect.Dy() {
			dropAlpha(band.Pix[y*band.Stride:][:4*size.X], out.Row(top+y))
		}
		if err := failure.OfContext(j.ctx); err != nil {
			out.Release()
			return nil, err
		}
	}
	return out, nil
}
