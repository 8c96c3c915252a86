// Package decode turns the bytes of a JPEG, PNG, GIF, BMP, TIFF or WebP file
// into upright RGB pixels. The format is told by the bytes alone, limits are
// checked from the header before memory is allocated, and whatever is wrong
// with a file is a failure with a Kind that blames the file. It resizes nothing.
package decode

import (
	"image"

	"triptych/shared/failure"
)

// Options say how an image is read. The zero Limits refuse everything.
type Options struct {
	Limits Limits
	// IgnoreOrientation leaves the pixels as they are stored, whatever EXIF says.
	IgnoreOrientation bool
}

// Result is a decoded image and what its file said of itself. Format is set as
// soon as it is known, also when decoding fails.
type Result struct {
	// Image holds the pixels as straight (not premultiplied) RGBA. The alpha is
	// what the file has; who drops it gets what Pillow's convert("RGB") gives.
	Image  *image.NRGBA
	Format Format
	// Width and Height are those that the file declares, before it is turned.
	Width, Height int
	// Orientation is EXIF's, 1 to 8. 1 is upright.
	Orientation int
	// BrokenEXIF tells that there were EXIF data that could not be read. The
	// image then counts as upright.
	BrokenEXIF bool
}

// header is what a file says of itself before any pixel is read.
type header struct {
	width, height int
	// memory is the most bytes that decoding holds at once, pixels included.
	memory int64
	// orientation is 1 to 8, or 0 when nothing can be read from broken EXIF data.
	orientation int
	// pixels decodes. It is called once, after the limits have been checked.
	pixels func() (*image.NRGBA, error)
}

// codec reads one format.
type codec struct {
	format Format
	header func(data []byte) (*header, error)
}

// Decode reads one image. Safe for concurrent use. A panic inside a decoder
// becomes a broken image whose cause is a *failure.Panic.
func Decode(data []byte, opts Options) (result Result, err error) {
	defer recoverInto(&result, &err)
	if err := opts.Limits.checkBytes(len(data)); err != nil {
		return Result{}, err
	}
	c, err := sniff(data)
	if err != nil {
		return Result{}, err
	}
	result.Format = c.format
	h, err := c.header(data)
	if err != nil {
		return result, err
	}
	result.Width, result.Height = h.width, h.height
	result.Orientation, result.BrokenEXIF = max(h.orientation, upright), h.orientation == brokenEXIF
	if err := opts.Limits.check(c.format, h); err != nil {
		return result, err
	}
	img, err := h.pixels()
	if err != nil {
		return result, err
	}
	if !opts.IgnoreOrientation {
		img = orient(img, result.Orientation)
	}
	result.Image = img
	return result, nil
}

func broken(cause error, format Format, how string) error {
	return failure.Wrap(cause, failure.BrokenImage, "the %s image is %s", format, how)
}

func unsupported(cause error, format Format, feature string) error {
	return failure.Wrap(cause, failure.UnsupportedMedia, "the %s image has %s, which is not read", format, feature)
}

// Decoders names what decodes each format in this build.
func Decoders() map[Format]string {
	return map[Format]string{
		JPEG: JPEGDecoder, PNG: "image/png", GIF: "image/gif", WebP: WebPDecoder,
		BMP: "golang.org/x/image/bmp", TIFF: "golang.org/x/image/tiff",
	}
}
