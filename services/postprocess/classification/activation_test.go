package classification_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"triptych/services/postprocess/classification"
)

func TestScores(t *testing.T) {
	tests := []struct {
		name       string
		activation classification.Activation
		logits     []float64
		k          int
		want       []float64
		err        error
	}{
		{"softmax", classification.Softmax, []float64{0, math.Log(3)}, 2, []float64{0.75, 0.25}, nil},
		{"softmax of equals", classification.Softmax, []float64{7, 7, 7, 7}, 2, []float64{0.25, 0.25}, nil},
		{"softmax of one", classification.Softmax, []float64{-3}, 1, []float64{1}, nil},
		{"softmax does not overflow", classification.Softmax, []float64{1e300, 1e300, 0}, 3, []float64{0.5, 0.5, 0}, nil},
		{"softmax does not underflow", classification.Softmax, []float64{-1e300, -1e300}, 2, []float64{0.5, 0.5}, nil},
		{"softmax of +Inf", classification.Softmax, []float64{1, math.Inf(1), 2}, 3, []float64{1, 0, 0}, nil},
		{"softmax of two +Inf", classification.Softmax, []float64{math.Inf(1), 1, math.Inf(1)}, 3, []float64{0.5, 0.5, 0}, nil},
		{"softmax of some -Inf", classification.Softmax, []float64{math.Inf(-1), 1}, 2, []float64{1, 0}, nil},
		{"softmax of all -Inf", classification.Softmax, []float64{math.Inf(-1), math.Inf(-1)}, 1, nil, classification.ErrNaN},
		{"softmax of a NaN below the best", classification.Softmax, []float64{1, math.NaN(), 3}, 1, nil, classification.ErrNaN},
		{"softmax of a NaN beside +Inf", classification.Softmax, []float64{math.Inf(1), math.NaN()}, 1, nil, classification.ErrNaN},
		{"sigmoid", classification.Sigmoid, []float64{0, math.Log(3), -math.Log(3)}, 3, []float64{0.75, 0.5, 0.25}, nil},
		{"sigmoid of the extremes", classification.Sigmoid, []float64{-1e300, 1e300, math.Inf(-1), math.Inf(1)}, 4, []float64{1, 1, 0, 0}, nil},
		{"sigmoid of a NaN below the best", classification.Sigmoid, []float64{math.NaN(), 0}, 1, []float64{0.5}, nil},
		{"sigmoid of a NaN among the best", classification.Sigmoid, []float64{math.NaN(), 0}, 2, nil, classification.ErrNaN},
		{"none", classification.None, []float64{0.1, 0.7, 0.2}, 2, []float64{0.7, 0.2}, nil},
		{"none of infinities", classification.None, []float64{math.Inf(1), math.Inf(-1)}, 2, []float64{math.Inf(1), math.Inf(-1)}, nil},
		{"none of a NaN below the best", classification.None, []float64{math.NaN(), 0.3}, 1, []float64{0.3}, nil},
		{"none of NaN alone", classification.None, []float64{math.NaN()}, 1, nil, classification.ErrNaN},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			picks := classification.TopK(nil, tt.logits, tt.k)
			if err := tt.activation.Scores(tt.logits, picks); !errors.Is(err, tt.err) {
				t.Fatalf("error = %v, want %v", err, tt.err)
			}
			for i, want := range tt.want {
				if got := picks[i].Value; got != want && !(math.Abs(got-want) < 1e-15) {
					t.Errorf("score %d = %v, want %v", i, got, want)
				}
			}
		})
	}
}

// Softmax sums to 1, lies in [0,1] and falls; sigmoid lies in [0,1] and falls.
func TestScoresProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		logits := make([]float64, 1+random.IntN(1500))
		scale := math.Pow(10, float64(random.IntN(6)-2))
		for i := range logits {
			logits[i] = random.NormFloat64() * scale
		}
		for _, activation := range []classification.Activation{classification.Softmax, classification.Sigmoid} {
			picks := classification.TopK(nil, logits, len(logits))
			if err := activation.Scores(logits, picks); err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i, p := range picks {
				sum += p.Value
				if p.Value < 0 || p.Value > 1 || (i > 0 && p.Value > picks[i-1].Value) {
					t.Fatalf("%s: score %d is %v after %v", activation, i, p.Value, picks[max(i-1, 0)].Value)
				}
			}
			if activation == classification.Softmax && math.Abs(sum-1) > 1e-12 {
				t.Fatalf("softmax of %d logits sums to %v", len(logits), sum)
			}
		}
	}
}
