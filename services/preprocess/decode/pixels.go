package decode

import (
	"errors"
	"image"
	"slices"

	"github.com/disintegration/imaging"

	"triptych/services/preprocess/pixels"
)

var errPaletteIndex = errors.New("a pixel has a color that is not in the palette")

// straight is an image of one of Go's decoders as straight (not premultiplied)
// RGBA of 8 bits. Memory that already looks so is used as it is. 16-bit samples
// keep their upper half (v>>8), and grey becomes three equal samples.
func straight(img image.Image) (*image.NRGBA, error) {
	switch m := img.(type) {
	case *image.NRGBA:
		if m.Rect.Min == (image.Point{}) {
			return m, nil
		}
	case *image.RGBA:
		if m.Rect.Min == (image.Point{}) && m.Opaque() {
			return &image.NRGBA{Pix: m.Pix, Stride: m.Stride, Rect: m.Rect}, nil
		}
	case *image.Paletted:
		// imaging works in goroutines of its own, where a panic can't be caught.
		if len(m.Pix) > 0 && int(slices.Max(m.Pix)) >= len(m.Palette) {
			return nil, errPaletteIndex
		}
	}
	return imaging.Clone(img), nil
}

// picture is an image of one of Go's decoders in lent memory.
func (j job) picture(img image.Image) (*pixels.Image, error) {
	from, err := straight(img)
	if err != nil {
		return nil, err
	}
	return j.flatten(from), nil
}

// flatten drops the alpha, or lays the image over the background where there is
// one.
func (j job) flatten(from *image.NRGBA) *pixels.Image {
	out := j.pool.Whole(from.Rect.Dx(), from.Rect.Dy())
	for y := range from.Rect.Dy() {
		j.opts.Background.flatten(from.Pix[y*from.Stride:][:4*from.Rect.Dx()], out.Row(y))
	}
	return out
}

// flatten turns a row of RGBA into RGB: over the color, as Pillow's paste with
// the alpha as its mask does it, or without its alpha where there is no color.
func (c *Color) flatten(row, to []byte) {
	if c == nil {
		dropAlpha(row, to)
		return
	}
	for ; len(row) >= 4 && len(to) >= 3; row, to = row[4:], to[3:] {
		c.under(row[3], row, to)
	}
}

// dropAlpha copies the colors of a row of RGBA.
func dropAlpha(row, to []byte) {
	for ; len(row) >= 4 && len(to) >= 3; row, to = row[4:], to[3:] {
		to[0], to[1], to[2] = row[0], row[1], row[2]
	}
}

// under lays one pixel over the color.
func (c *Color) under(alpha byte, rgb, to []byte) {
	over, rest := uint(alpha), uint(255-alpha)
	for i := range c {
		v := uint(rgb[i])*over + uint(c[i])*rest + 128
		to[i] = byte((v>>8 + v) >> 8)
	}
}

// fill makes every pixel the same.
func fill(row []byte, color [pixels.Samples]byte) {
	if len(row) < pixels.Samples {
		return
	}
	done := copy(row, color[:])
	for done < len(row) {
		done += copy(row[done:], row[:done])
	}
}
