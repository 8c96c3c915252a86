package transform

import (
	"cmp"

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
	// Longest makes the image as large as fits into the result, keeps the
	// proportions and pads the rest.
	Longest Resize = "longest"
	// Exact resizes to Spec.Width x Spec.Height whatever the proportions.
	Exact Resize = "exact"
	// Keep does not resize.
	Keep Resize = "none"
)

// Layout is the order of the dimensions of one image.
type Layout string

// The layouts.
const (
	// NHWC has the samples of a pixel side by side.
	NHWC Layout = "NHWC"
	// NCHW has a plane for each channel.
	NCHW Layout = "NCHW"
)

// Colors are the channels of a result, in their order.
type Colors string

// The channels.
const (
	RGB Colors = "RGB"
	BGR Colors = "BGR"
	// Grey is one channel, Pillow's convert("L") of the image before it is resized.
	Grey Colors = "GREY"
)

// Element is the type of a number of the result, by its name in the protocol.
type Element string

// The elements.
const (
	Uint8   Element = "UINT8"
	Float16 Element = "FP16"
	Float32 Element = "FP32"
)

// Spec says what becomes of an image.
type Spec struct {
	Resize Resize
	// Size is the shorter side for Shortest.
	Size int
	// Width and Height are the size for Exact.
	Width, Height int
	// ShrinkOnly keeps Longest from making small images larger.
	ShrinkOnly bool
	// Corner puts what Longest has resized into the upper left corner of the
	// result. Without it, it is in the middle.
	Corner bool
	Filter resample.Filter
	// Aliased keeps the filter from growing when an image shrinks, as libraries
	// without antialiasing do.
	Aliased bool
	// Crop cuts the middle out, and pads what is smaller, as torchvision's
	// CenterCrop does. Without it, an image that is not OutWidth x OutHeight after
	// resizing is refused.
	Crop bool
	// Padding is the color around images that are smaller than the result, in the
	// order of Colors.
	Padding [pixels.Samples]byte
	// OutWidth and OutHeight are the size of the result.
	OutWidth, OutHeight int
	Layout              Layout
	// Colors is RGB if empty.
	Colors Colors
	// Element is Uint8 if empty, or Float32 where there is a Normalise.
	Element Element
	// Normalise is the arithmetic of floats. Without it they are from 0 to 255.
	Normalise *Normalisation
}

// Normalisation is the arithmetic of results that are floats, per sample:
// (v*Scale - Mean) / Std. Mean and Std are in the order of Spec.Colors.
type Normalisation struct {
	Scale     float64
	Mean, Std [pixels.Samples]float64
}

// Pads tells whether any image is padded. Where it is false, Padding is not seen.
func (s Spec) Pads() bool {
	switch {
	case s.Resize == Longest:
		return true
	case !s.Crop:
		return false
	case s.Resize == Shortest:
		return s.Size < max(s.OutWidth, s.OutHeight)
	case s.Resize == Exact:
		return s.Width < s.OutWidth || s.Height < s.OutHeight
	}
	return true
}

// complete fills in what is empty.
func (s Spec) complete() Spec {
	s.Colors = cmp.Or(s.Colors, RGB)
	if s.Normalise != nil {
		s.Element = cmp.Or(s.Element, Float32)
		return s
	}
	s.Element = cmp.Or(s.Element, Uint8)
	s.Normalise = &Normalisation{Scale: 1, Std: [pixels.Samples]float64{1, 1, 1}}
	return s
}

// check refuses what can't be done.
func (s Spec) check() error {
	switch {
	case !s.Filter.Known():
		return failure.New(failure.Invalid, "unknown filter %q", s.Filter)
	case s.Layout != NHWC && s.Layout != NCHW:
		return failure.New(failure.Invalid, "unknown layout %q", s.Layout)
	case s.Colors != RGB && s.Colors != BGR && s.Colors != Grey:
		return failure.New(failure.Invalid, "unknown colors %q", s.Colors)
	case s.Element != Uint8 && s.Element != Float16 && s.Element != Float32:
		return failure.New(failure.Invalid, "unknown element %q", s.Element)
	case s.OutWidth < 1 || s.OutHeight < 1:
		return failure.New(failure.Invalid, "the result is %dx%d, but must have pixels", s.OutWidth, s.OutHeight)
	}
	return s.checkResize()
}

func (s Spec) checkResize() error {
	switch {
	case s.Resize == Shortest && s.Size < 1:
		return failure.New(failure.Invalid, "the shorter side is %d, but must be 1 or more", s.Size)
	case s.Resize == Exact && (s.Width < 1 || s.Height < 1):
		return failure.New(failure.Invalid, "the size is %dx%d, but must have pixels", s.Width, s.Height)
	case s.Resize == Longest && s.Crop:
		return failure.New(failure.Invalid, "resize %q leaves nothing to crop", s.Resize)
	case s.Resize != Shortest && s.Resize != Longest && s.Resize != Exact && s.Resize != Keep:
		return failure.New(failure.Invalid, "unknown resize %q", s.Resize)
	}
	return nil
}
