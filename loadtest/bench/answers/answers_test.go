package answers_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"triptych/loadtest/bench/answers"
	"triptych/loadtest/measure"
	"triptych/proto/inference"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func answer(labels []string, scores ...float32) *inference.ModelInferResponse {
	resp := &inference.ModelInferResponse{}
	data := make([]byte, 0, 4*len(scores))
	for _, v := range scores {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	elements := make([][]byte, len(labels))
	for i, l := range labels {
		elements[i] = []byte(l)
	}
	oip.AddOutput(resp, oip.Tensor{Name: answers.Label, Datatype: oip.Bytes, Shape: []int64{1, int64(len(labels))}, Data: oip.JoinStrings(elements...)})
	oip.AddOutput(resp, oip.Tensor{Name: answers.Score, Datatype: "FP32", Shape: []int64{1, int64(len(scores))}, Data: data})
	return resp
}

// classifier gives the answers of a list, one after the other.
func classifier(list ...*inference.ModelInferResponse) answers.Infer {
	return func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if len(list) == 0 {
			return nil, errors.New("it rains")
		}
		first := list[0]
		list = list[1:]
		return first, nil
	}
}

func TestCheck(t *testing.T) {
	k := answers.New([][]byte{[]byte("a"), []byte("b")})
	cat, dog := answer([]string{"cat", "dog"}, 0.7, 0.2), answer([]string{"dog", "cat"}, 0.9, 0.05)
	if err := k.Learn(t.Context(), classifier(cat, dog), "m"); err != nil {
		t.Fatal(err)
	}
	if err := k.Learn(t.Context(), classifier(answer([]string{"cat", "fox"}, 0.5, 0.4), dog), "m"); err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	for name, tt := range map[string]struct {
		item int
		resp *inference.ModelInferResponse
		kind string
	}{
		"right":              {0, cat, ""},
		"of the other model": {0, answer([]string{"cat", "fox"}, 0.5, 0.4), ""},
		"nearly":             {0, answer([]string{"cat", "dog"}, 0.705, 0.195), ""},
		"the next label":     {0, answer([]string{"cat", "owl"}, 0.7, 0.201), ""},
		"of another image":   {1, cat, measure.WrongAnswer},
		"of two models":      {0, answer([]string{"cat", "fox"}, 0.7, 0.4), measure.WrongAnswer},
		"another label":      {0, answer([]string{"owl", "dog"}, 0.7, 0.2), measure.WrongAnswer},
		"too short":          {0, answer([]string{"cat"}, 0.7), measure.WrongAnswer},
		"NaN":                {0, answer([]string{"cat", "dog"}, nan, 0.2), measure.WrongAnswer},
		"no labels":          {0, answer(nil, 0.7), measure.BadAnswer},
		"nothing":            {0, &inference.ModelInferResponse{}, measure.BadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			err := k.Check(tt.item, tt.resp)
			if (err == nil) != (tt.kind == "") || err != nil && measure.FaultOf(err).Kind != tt.kind {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestLearnRefuses(t *testing.T) {
	k := answers.New([][]byte{[]byte("a")})
	if err := k.Learn(t.Context(), classifier(), "m"); err == nil {
		t.Error("learned from nobody")
	}
	if err := k.Learn(t.Context(), classifier(&inference.ModelInferResponse{}), "m"); err == nil {
		t.Error("learned nothing")
	}
	if got := k.Tensors(); len(got) != 1 || got[0].Name != answers.Image {
		t.Errorf("tensors %v", got)
	}
}
