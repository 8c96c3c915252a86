// Package transform turns pixels into a model's input: turned upright, resized,
// cropped or padded, laid out and normalised as torchvision and Pillow do it. It
// decides which pixels a model sees and what becomes of them; their arithmetic is
// resample's, their decoding decode's.
package transform

import (
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
)

// Transform is a checked Spec. Safe for concurrent use.
type Transform struct {
	spec Spec
	// padding is the spec's, as red, green and blue.
	padding [pixels.Samples]byte
	layout  layout
	axes    resample.Axes
}

// New checks a Spec.
func New(spec Spec) (*Transform, error) {
	spec = spec.complete()
	if err := spec.check(); err != nil {
		return nil, err
	}
	t := &Transform{spec: spec, layout: newLayout(spec)}
	for sample := range pixels.Samples {
		t.padding[sample] = spec.Padding[spec.Colors.place(sample)]
	}
	return t, nil
}

// Bytes is the size of one result.
func (t *Transform) Bytes() int {
	return t.spec.OutWidth * t.spec.OutHeight * t.spec.Colors.Count() * t.spec.Element.size()
}

// Count is how many channels there are.
func (c Colors) Count() int {
	if c == Grey {
		return 1
	}
	return pixels.Samples
}

// place is the channel that shows a sample of RGB.
func (c Colors) place(sample int) int {
	switch c {
	case BGR:
		return pixels.Samples - 1 - sample
	case Grey:
		return 0
	default:
		return sample
	}
}

// size is the bytes of an element.
func (e Element) size() int {
	switch e {
	case Float16:
		return 2
	case Float32:
		return 4
	default:
		return 1
	}
}
