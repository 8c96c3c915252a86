// Package transform turns pixels into a model's input: turned upright, resized,
// cropped, laid out and normalised as torchvision and Pillow do it. It decides
// which pixels a model sees and what becomes of them; their arithmetic is
// resample's, their decoding decode's.
package transform

import (
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
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
	Filter        resample.Filter
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
	spec  Spec
	table *table
	axes  resample.Axes
}

// New checks a Spec.
func New(spec Spec) (*Transform, error) {
	switch {
	case !spec.Filter.Known():
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
	t := &Transform{spec: spec}
	if spec.Normalise != nil {
		t.table = newTable(*spec.Normalise)
	}
	return t, nil
}

// Bytes is the size of one result.
func (t *Transform) Bytes() int {
	n := t.spec.OutWidth * t.spec.OutHeight * pixels.Samples
	if t.table != nil {
		n *= 4
	}
	return n
}
