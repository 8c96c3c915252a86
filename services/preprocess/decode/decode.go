// Package decode turns the bytes of a JPEG, PNG, GIF, BMP, TIFF or WebP file
// into RGB pixels. The format is told by the bytes alone, limits are checked
// from the header before memory is allocated, and whatever is wrong with a file
// is a failure with a Kind that blames the file. It resizes nothing and turns
// nothing: pixels come as they are stored, with the orientation beside them.
package decode

import (
	"context"
	"image"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// Options say how images are read. The zero Limits refuse everything.
type Options struct {
	Limits Limits
	// Background is what transparent pixels are laid over. Without one they keep
	// their color, as Pillow's convert("RGB") has it.
	Background *Color
	// Profiles turn colors into sRGB by the profile that a file holds. Without
	// them a profile is ignored, as Pillow's convert("RGB") does. With a
	// background, that counts as a color of the file's.
	Profiles *Profiles
}

// Color is red, green and blue.
type Color [pixels.Samples]byte

// View is what the caller is going to look at. The zero View is the whole
// picture at its full size.
type View struct {
	// Reduce is by how much both sides may be divided while decoding: 1 (or 0),
	// or one of Header.Reductions.
	Reduce int
	// Region is the part that is wanted, in pixels of the reduced picture. A
	// decoder may give more. Empty means everything.
	Region image.Rectangle
}

// Header is what a file says of itself. Nothing of it has been decoded.
type Header struct {
	Format Format
	// Width and Height are those of the stored pixels, before they are turned.
	Width, Height int
	// Orientation is EXIF's, 1 to 8. 1 is upright.
	Orientation int
	// BrokenEXIF tells that there were EXIF data that could not be read. The
	// image then counts as upright.
	BrokenEXIF bool
	// Memory is the most bytes that decoding holds at once, pixels included.
	Memory int64

	codec header
	opts  Options
	data  []byte
}

// header is what a codec makes of a file before any pixel is read.
type header struct {
	width, height int
	// memory is the most bytes that decoding holds at once, pixels included.
	memory int64
	// overlay is what it holds besides to lay transparent pixels over a background.
	overlay int64
	// orientation is 1 to 8, or 0 when nothing can be read from broken EXIF data.
	orientation int
	// reductions are by what the picture may be divided while it is decoded.
	reductions []int
	// pixels decodes. It is called once, after the limits have been checked.
	pixels func(job) (*pixels.Image, error)
}

// job is one decode: whoever decodes looks at ctx from time to time, and takes
// memory of the size of a picture from pool.
type job struct {
	ctx  context.Context
	pool *pixels.Pool
	opts Options
	view View
}

// codec reads one format.
type codec struct {
	format Format
	header func(data []byte) (*header, error)
}

// Open reads the header of an image and checks it against the limits. The data
// must stay as they are until the image is decoded. When the error is not about
// the format, the Header tells it all the same. A panic inside becomes a broken
// image whose cause is a *failure.Panic.
func Open(data []byte, opts Options) (h Header, err error) {
	defer recoverInto(&h.Format, &err)
	if err := opts.Limits.checkBytes(len(data)); err != nil {
		return h, err
	}
	c, err := sniff(data)
	if err != nil {
		return h, err
	}
	h.Format = c.format
	read, err := c.header(data)
	if err != nil {
		return h, err
	}
	if opts.Background != nil {
		read.memory += read.overlay
	}
	h.codec, h.opts, h.data = *read, opts, data
	h.Width, h.Height, h.Memory = read.width, read.height, read.memory
	h.Orientation, h.BrokenEXIF = max(read.orientation, upright), read.orientation == brokenEXIF
	if err := opts.Limits.check(c.format, read); err != nil {
		return h, err
	}
	return h, opts.Limits.checkFrames(c.format, data)
}

// Reductions are by what View.Reduce may divide the picture, beside 1, in rising
// order. Few formats have any.
func (h Header) Reductions() []int { return h.codec.reductions }

// Reduced is the size of the picture that is divided by reduce: a rest counts as
// a pixel.
func (h Header) Reduced(reduce int) image.Point {
	reduce = max(reduce, 1)
	return image.Pt((h.Width+reduce-1)/reduce, (h.Height+reduce-1)/reduce)
}

// Decode reads the pixels, into memory of the pool that the caller releases. It
// may be called once for a Header. It ends soon after ctx does, with the CPU
// free. A panic inside becomes a broken image whose cause is a *failure.Panic.
func (h Header) Decode(ctx context.Context, pool *pixels.Pool, view View) (img *pixels.Image, err error) {
	defer recoverInto(&h.Format, &err)
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	view.Reduce = max(view.Reduce, 1)
	if view.Region.Empty() {
		view.Region = image.Rectangle{Max: h.Reduced(view.Reduce)}
	}
	img, err = h.codec.pixels(job{ctx: ctx, pool: pool, opts: h.opts, view: view})
	if err != nil || h.opts.Profiles == nil {
		return img, err
	}
	if err := h.opts.Profiles.convert(ctx, h.Format, h.data, img); err != nil {
		img.Release()
		return nil, err
	}
	return img, nil
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
		JPEG: JPEGDecoder, PNG: PNGDecoder, GIF: "compress/lzw", WebP: WebPDecoder,
		BMP: BMPDecoder, TIFF: TIFFDecoder,
	}
}
