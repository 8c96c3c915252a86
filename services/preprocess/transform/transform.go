// Package transform turns upright pixels into a model's input: resized, cropped,
// laid out and normalised as torchvision and Pillow do it. Its resampling is
// Pillow's fixed-point arithmetic, so that pixels are equal to the bit. It
// decodes nothing.
package transform

import (
	"image"

	"triptych/shared/failure"
)

// Resize says how the size after resizing is found.
type Resize string

// The ways to resize.
const (
	// Shortest brings the shorter side to Spec.Size and keeps the proportions.
	Shortest Resize = "shortest"
	// Exact resizes to Spec.Width x Spec.Height whatever the proportions.
	Exact Resize = "exact"
	// Keep does not resize.
	Keep Resize = "none"
)

// Layout is the order of the dimensions of one image.
type Layout string

// The layouts.
const (
	// NHWC has the three samples of a pixel side by side.
	NHWC Layout = "NHWC"
	// NCHW has three planes.
	NCHW Layout = "NCHW"
)

// Spec says what becomes of an image.
type Spec struct {
	Resize Resize
	// Size is the shorter side for Shortest.
	Size int
	// Width and Height are the size for Exact.
	Width, Height int
	Filter        Filter
	// Crop cuts the middle out, and pads with black what is smaller, as
	// torchvision's CenterCrop does. Without it, an image that is not OutWidth x
	// OutHeight after resizing is refused.
	Crop bool
	// OutWidth and OutHeight are the size of the result.
	OutWidth, OutHeight int
	Layout              Layout
	// Normalise is nil for UINT8 results. Else results are FP32.
	Normalise *Normalisation
}

// Normalisation is the arithmetic of FP32 results, per sample:
// (v*Scale - Mean) / Std.
type Normalisation struct {
	Scale     float64
	Mean, Std [3]float64
}

// Transform is a checked Spec. Safe for concurrent use.
type Transform struct {
	spec   Spec
	kernel kernel
	table  *table
}

const samples = 3 // red, green and blue

// New checks a Spec.
func New(spec Spec) (*Transform, error) {
	k, ok := kernels[spec.Filter]
	switch {
	case !ok:
		return nil, failure.New(failure.Invalid, "unknown filter %q", spec.Filter)
	case spec.Layout != NHWC && spec.Layout != NCHW:
		return nil, failure.New(failure.Invalid, "unknown layout %q", spec.Layout)
	case spec.OutWidth < 1 || spec.OutHeight < 1:
		return nil, failure.New(failure.Invalid, "the result is %dx%d, but must have pixels", spec.OutWidth, spec.OutHeight)
	case spec.Resize == Shortest && spec.Size < 1:
		return nil, failure.New(failure.Invalid, "the shorter side is %d, but must be 1 or more", spec.Size)
	case spec.Resize == Exact && (spec.Width < 1 || spec.Height < 1):
		return nil, failure.New(failure.Invalid, "the size is %dx%d, but must have pixels", spec.Width, spec.Height)
	}
	t := &Transform{spec: spec, kernel: k}
	if spec.Normalise != nil {
		t.table = newTable(*spec.Normalise)
	}
	return t, nil
}

// Bytes is the size of one result.
func (t *Transform) Bytes() int {
	n := t.spec.OutWidth * t.spec.OutHeight * samples
	if t.table != nil {
		n *= 4
	}
	return n
}

// Apply writes the result for img into out, which has Bytes() bytes. The alpha
// of img is not looked at.
func (t *Transform) Apply(img *image.NRGBA, out []byte) error {
	if len(out) != t.Bytes() {
		return failure.New(failure.Internal, "the result has %d bytes, there is room for %d", t.Bytes(), len(out))
	}
	g, err := t.spec.geometry(img.Rect.Dx(), img.Rect.Dy())
	if err != nil {
		return err
	}
	rgb := out
	if t.table != nil || t.spec.Layout != NHWC {
		rgb = make([]byte, t.spec.OutWidth*t.spec.OutHeight*samples)
	}
	t.draw(img, g, rgb)
	switch {
	case t.table != nil:
		t.table.write(rgb, out, t.spec.Layout)
	case t.spec.Layout == NCHW:
		writePlanes(rgb, out)
	}
	return nil
}

// draw resamples the part of the image that the crop shows.
func (t *Transform) draw(img *image.NRGBA, g geometry, rgb []byte) {
	w, h := t.spec.OutWidth, t.spec.OutHeight
	x0, x1 := max(g.left, 0), min(g.left+w, g.width)
	y0, y1 := max(g.top, 0), min(g.top+h, g.height)
	if x1-x0 < w || y1-y0 < h {
		clear(rgb)
	}
	target := canvas{pix: rgb[((y0-g.top)*w+x0-g.left)*samples:], stride: w * samples}
	columns := window{in: img.Rect.Dx(), out: g.width, from: x0, to: x1}
	rows := window{in: img.Rect.Dy(), out: g.height, from: y0, to: y1}
	if t.spec.Filter == Nearest {
		nearest(img, columns, rows, target)
		return
	}
	resample(img, columns.weights(t.kernel), rows.weights(t.kernel), target)
}
