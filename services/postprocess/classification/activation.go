// Package classification is the arithmetic of an answer: logits into scores,
// scores into the best k, class numbers into labels. It knows no tensors and no
// protocol.
//
// NaN never sorts first: it comes after every number, and a score that would be
// NaN is refused, so that no answer holds one.
package classification

import (
	"errors"
	"math"
)

// Activation turns the logits of one row into scores. All of them keep the
// order of the logits, so that the best k can be picked before any score is
// computed.
type Activation string

// The activations. Softmax is the default: what a classifier with one answer
// was trained with. Sigmoid is for several answers at once, None for a model
// that already gives scores.
const (
	Softmax Activation = "softmax"
	Sigmoid Activation = "sigmoid"
	None    Activation = "none"
)

// ErrNaN means that a score would not be a number: the model gave NaN where the
// answer needs a score, or softmax got nothing but -Inf.
var ErrNaN = errors.New("the model gave NaN scores")

// Scores replaces the logits in picks by their scores. Softmax needs all the
// logits of the row, of which picks, not empty, are the best. The sums are
// float64, so that a thousand float32 logits lose nothing.
func (a Activation) Scores(logits []float64, picks []Pick) error {
	switch a {
	case Softmax:
		softmax(logits, picks)
	case Sigmoid:
		for i := range picks {
			picks[i].Value = sigmoid(picks[i].Value)
		}
	}
	for _, p := range picks {
		if math.IsNaN(p.Value) {
			return ErrNaN
		}
	}
	return nil
}

// softmax subtracts the greatest logit first, so that exp cannot overflow. When
// that is +Inf, the limit holds: the infinite ones share everything.
func softmax(logits []float64, picks []Pick) {
	top := picks[0].Value
	weight := func(v float64) float64 { return math.Exp(v - top) }
	if math.IsInf(top, 1) {
		weight = infinite
	}
	sum := 0.0
	for _, v := range logits {
		sum += weight(v)
	}
	for i := range picks {
		picks[i].Value = weight(picks[i].Value) / sum
	}
}

// infinite is 1 for +Inf, 0 for what is less, and NaN for NaN.
func infinite(v float64) float64 {
	switch {
	case math.IsNaN(v):
		return v
	case math.IsInf(v, 1):
		return 1
	default:
		return 0
	}
}

// sigmoid takes the form whose exp cannot overflow.
func sigmoid(v float64) float64 {
	if v >= 0 {
		return 1 / (1 + math.Exp(-v))
	}
	e := math.Exp(v)
	return e / (1 + e)
}
