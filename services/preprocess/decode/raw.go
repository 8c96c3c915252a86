package decode

import (
	"image"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// Raw names pixels that come without a file. It is no format that is told from
// bytes, so Formats does not list it.
const Raw Format = "RGB"

// OpenRaw is Open for pixels that are decoded already: packed RGB of the given
// size, without gaps. Decode then gives these very bytes, which nobody may write.
// Limits on pixels and sides hold; one on the bytes of a file does not.
func OpenRaw(data []byte, size image.Point, opts Options) (Header, error) {
	h := Header{Format: Raw, Width: size.X, Height: size.Y, Orientation: upright, opts: opts}
	h.codec = header{
		width: size.X, height: size.Y, orientation: upright,
		pixels: func(job) (*pixels.Image, error) { return pixels.Of(data, size.X, size.Y), nil },
	}
	if size.X <= 0 || size.Y <= 0 {
		return h, failure.New(failure.Invalid, "the image has no pixels: it is %dx%d", size.X, size.Y)
	}
	if err := opts.Limits.check(Raw, &h.codec); err != nil {
		return h, err
	}
	if n := int64(size.X) * int64(size.Y) * pixels.Samples; n != int64(len(data)) {
		return h, failure.New(failure.Invalid, "the image of %dx%d pixels has %d bytes, must have %d", size.X, size.Y, len(data), n)
	}
	return h, nil
}
