package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"triptych/loadtest/bench/server"
	"triptych/loadtest/bench/versions"
	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

// classifier is the real model of the rows 4 and 5.
const classifier = versions.Classifier

// swap adds a version, has it loaded and takes the one before away.
func swap(ctx context.Context, r *versions.Repository, s *server.Server) error {
	return r.Swap(func(model string) error { return s.Load(ctx, model) })
}

// answers are the right ones, of the odd and of the even versions.
type answers struct {
	tensors []oip.Tensor
	right   [2][][]float32
}

// learn asks both files, one request at a time. It leaves version 2 loaded.
func learn(ctx context.Context, r *versions.Repository, s *server.Server) (*answers, error) {
	spec, err := sample.ParseTensor(input+":UINT8:"+dims, 1)
	if err != nil {
		return nil, err
	}
	a := &answers{}
	if a.tensors, err = sample.Tensors(spec, swapItems, 1); err != nil {
		return nil, err
	}
	if err := s.Load(ctx, classifier); err != nil {
		return nil, err
	}
	for {
		for _, tensor := range a.tensors {
			req := &inference.ModelInferRequest{ModelName: classifier}
			oip.AddInput(req, tensor)
			resp, err := s.Infer(ctx, req)
			if err != nil {
				return nil, fmt.Errorf("ask version %d: %w", r.Latest(), err)
			}
			a.right[r.Latest()%2] = append(a.right[r.Latest()%2], scores(resp))
		}
		if r.Latest() == 2 {
			return a, nil
		}
		if err := swap(ctx, r, s); err != nil {
			return nil, err
		}
	}
}

// A sum is added up in another order in another batch, so answers of the same file
// differ a little; those of the two files, or of two pictures, differ by far more.
const sameWithin = 1e-3

// check compares an answer with the right one of the version that it names.
func (a *answers) check(n int, resp *inference.ModelInferResponse) error {
	version, err := strconv.Atoi(resp.GetModelVersion())
	if err != nil {
		return &measure.Fault{Kind: measure.WrongAnswer, Message: "the answer names version " + strconv.Quote(resp.GetModelVersion())}
	}
	if d := distance(scores(resp), a.right[version%2][n]); !(d <= sameWithin) {
		return &measure.Fault{Kind: measure.WrongAnswer, Message: fmt.Sprintf("item %d from version %d is off by %g", n, version, d)}
	}
	return nil
}

// distance is the greatest difference, as a part of the greatest score.
func distance(got, want []float32) float64 {
	if len(got) != len(want) || len(got) == 0 {
		return math.Inf(1)
	}
	var most, greatest float64
	for i := range want {
		most = max(most, math.Abs(float64(got[i]-want[i]))) // NaN stays
		greatest = max(greatest, math.Abs(float64(want[i])))
	}
	return most / greatest
}

func scores(resp *inference.ModelInferResponse) []float32 {
	out, _ := oip.Output(resp, "logits")
	values := make([]float32, len(out.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*i:]))
	}
	return values
}
