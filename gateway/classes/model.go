// Package classes knows what models that look at images have in common: the input
// that takes one image, and the outputs LABEL, SCORE and CLASS. It calls no model.
package classes

import (
	"slices"

	"triptych/proto/inference"
	"triptych/shared/oip"
)

// The outputs of a model that classifies images.
const (
	Label = "LABEL"
	Score = "SCORE"
	Class = "CLASS"
)

// Input is how one image is sent to a model.
type Input struct {
	Name string
	// Shape is the wire shape of one image.
	Shape []int64
}

// InputOf is the input of a model that takes one image; why not says that it takes
// something else.
func InputOf(metadata *inference.ModelMetadataResponse) (in Input, whyNot string) {
	if len(metadata.GetInputs()) != 1 {
		return in, "it does not have one input"
	}
	only := metadata.GetInputs()[0]
	if only.GetDatatype() != oip.Bytes {
		return in, "its input is " + only.GetDatatype() + ", not BYTES"
	}
	shape := slices.Clone(only.GetShape())
	for i, d := range shape {
		if d < 0 {
			shape[i] = 1 // the batch, or a number of images that the caller chooses
		}
	}
	if n, err := oip.Elements(shape); err != nil || n != 1 {
		return in, "its input is not one image but " + oip.FormatShape(only.GetShape())
	}
	return Input{Name: only.GetName(), Shape: shape}, ""
}

// Missing is the first of LABEL, SCORE and CLASS that a model does not give; empty
// when it gives all.
func Missing(metadata *inference.ModelMetadataResponse) string {
	for _, want := range []string{Label, Score, Class} {
		if !slices.ContainsFunc(metadata.GetOutputs(), func(o *inference.ModelMetadataResponse_TensorMetadata) bool { return o.GetName() == want }) {
			return want
		}
	}
	return ""
}
