package decode

import (
	"errors"
	"image"
	"slices"

	"github.com/disintegration/imaging"
)

var errPaletteIndex = errors.New("a pixel has a color that is not in the palette")

// toNRGBA is an image of one of Go's decoders as straight RGBA of 8 bits.
// Memory that already looks so is used as it is. 16-bit samples keep their
// upper half (v>>8), and grey becomes three equal samples.
func toNRGBA(img image.Image) (*image.NRGBA, error) {
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
