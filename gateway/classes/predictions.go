package classes

import (
	"encoding/binary"
	"math"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Prediction is one class that an image may have.
type Prediction struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
	Class int32   `json:"class"`
}

// Predictions reads the three outputs, which must agree with each other.
func Predictions(resp *inference.ModelInferResponse) ([]Prediction, error) {
	labels, scores, classes := output(resp, Label, oip.Bytes), output(resp, Score, "FP32"), output(resp, Class, "INT32")
	if labels == nil || scores == nil || classes == nil {
		return nil, failure.New(failure.Internal, "the model did not give LABEL, SCORE and CLASS of one image")
	}
	n, err := oip.Elements(labels.Shape)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the model gave LABEL a wrong shape")
	}
	texts, err := oip.Strings(labels.Data, n)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the model gave a LABEL that is not whole")
	}
	if len(scores.Data) != 4*len(texts) || len(classes.Data) != 4*len(texts) {
		return nil, failure.New(failure.Internal, "the model gave %d labels, %d bytes of scores and %d of classes", len(texts), len(scores.Data), len(classes.Data))
	}
	found := make([]Prediction, 0, len(texts))
	for i, text := range texts {
		score := math.Float32frombits(binary.LittleEndian.Uint32(scores.Data[4*i:]))
		if f := float64(score); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, failure.New(failure.Internal, "the model gave a score that is not finite")
		}
		found = append(found, Prediction{string(text), score, int32(binary.LittleEndian.Uint32(classes.Data[4*i:]))})
	}
	return found, nil
}

func output(resp *inference.ModelInferResponse, name, datatype string) *oip.Tensor {
	if t, ok := oip.Output(resp, name); ok && t.Datatype == datatype {
		return &t
	}
	return nil
}
