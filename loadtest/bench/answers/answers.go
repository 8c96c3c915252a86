// Package answers knows the right answers of an image classifier, from a quiet pass
// of one request after the other, and holds those that come under load against them.
package answers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"triptych/loadtest/measure"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

// The tensors of a classifier: an image in, labels and their scores out, best first.
const (
	Image = "IMAGE"
	Label = "LABEL"
	Score = "SCORE"
)

// Tolerance is by how much a score may differ: a sum is added up in another order in
// another batch.
const Tolerance = 0.01

// Infer asks a classifier.
type Infer func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error)

// Key has the right answers to images. Check may be called concurrently, the others
// not beside it.
type Key struct {
	images [][]byte
	// right are, for each image, the answers that are; more than one where several
	// versions of a model answer.
	right [][]answer
}

// answer is scores by label, and the last of them: labels beyond it have less.
type answer struct {
	scores map[string]float32
	least  float32
}

// New makes a key to images, which knows nothing yet.
func New(images [][]byte) *Key { return &Key{images: images, right: make([][]answer, len(images))} }

// Tensor is an image as a classifier takes it.
func Tensor(image []byte) oip.Tensor {
	return oip.Tensor{Name: Image, Datatype: oip.Bytes, Shape: []int64{1, 1}, Data: oip.JoinStrings(image)}
}

// Request asks a model about an image.
func Request(model string, image []byte) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: model}
	oip.AddInput(req, Tensor(image))
	return req
}

// Tensors are all images.
func (k *Key) Tensors() []oip.Tensor {
	tensors := make([]oip.Tensor, len(k.images))
	for i, image := range k.images {
		tensors[i] = Tensor(image)
	}
	return tensors
}

// Learn asks about each image and takes the answers for right. What was learned
// before stays right.
func (k *Key) Learn(ctx context.Context, infer Infer, model string) error {
	for i, image := range k.images {
		resp, err := infer(ctx, Request(model, image))
		if err != nil {
			return fmt.Errorf("learn the answer to image %d: %w", i, err)
		}
		labels, scores, err := read(resp)
		if err != nil {
			return fmt.Errorf("learn the answer to image %d: %w", i, err)
		}
		right := answer{scores: map[string]float32{}, least: scores[len(scores)-1]}
		for n, label := range labels {
			right.scores[label] = scores[n]
		}
		k.right[i] = append(k.right[i], right)
	}
	return nil
}

// Check is a fault of the kind WrongAnswer where an answer is not one of those to
// image n.
func (k *Key) Check(n int, resp *inference.ModelInferResponse) error {
	labels, scores, err := read(resp)
	if err != nil {
		return err
	}
	for _, right := range k.right[n] {
		if right.fits(labels, scores) {
			return nil
		}
	}
	return &measure.Fault{Kind: measure.WrongAnswer, Message: fmt.Sprintf("image %d got %q with %.3f, right is %v", n, labels, scores, k.scores(n))}
}

// scores are all that are right for an image.
func (k *Key) scores(n int) []map[string]float32 {
	list := make([]map[string]float32, len(k.right[n]))
	for i, right := range k.right[n] {
		list[i] = right.scores
	}
	return list
}

func (a answer) fits(labels []string, scores []float32) bool {
	if len(labels) != len(a.scores) {
		return false
	}
	for i, label := range labels {
		want, known := a.scores[label]
		if !known {
			// One that had a little less than the last may have a little more now.
			want = a.least
		}
		if !(math.Abs(float64(scores[i]-want)) <= Tolerance) { // false for NaN
			return false
		}
	}
	return true
}

// read takes labels and scores from an answer to one image.
func read(resp *inference.ModelInferResponse) ([]string, []float32, error) {
	label, labelled := oip.Output(resp, Label)
	score, scored := oip.Output(resp, Score)
	if !labelled || !scored || len(score.Data)%4 != 0 || len(score.Data) == 0 {
		return nil, nil, &measure.Fault{Kind: measure.BadAnswer, Message: "the answer has not both " + Label + " and " + Score}
	}
	scores := make([]float32, len(score.Data)/4)
	for i := range scores {
		scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(score.Data[4*i:]))
	}
	elements, err := oip.Strings(label.Data, int64(len(scores)))
	if err != nil {
		return nil, nil, &measure.Fault{Kind: measure.BadAnswer, Message: err.Error()}
	}
	labels := make([]string, len(elements))
	for i, e := range elements {
		labels[i] = string(e)
	}
	return labels, scores, nil
}
