package oip_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

const (
	floats = inference.DataType_TYPE_FP32
	octets = inference.DataType_TYPE_UINT8
	text   = inference.DataType_TYPE_STRING
)

// batching takes image [b,2,2], FP32, and optionally mask [b,-1], UINT8.
var batching = &inference.ModelConfig{
	Name: "m", MaxBatchSize: 4,
	Input: []*inference.ModelInput{
		{Name: "image", DataType: floats, Dims: []int64{2, 2}},
		{Name: "mask", DataType: octets, Dims: []int64{-1}, Optional: true},
	},
	Output: []*inference.ModelOutput{{Name: "logits", DataType: floats, Dims: []int64{2}}, {Name: "ids"}},
}

// splitting is batching with requests that are split.
var splitting = func(value string) *inference.ModelConfig {
	cfg := proto.CloneOf(batching)
	cfg.Parameters = map[string]*inference.ModelParameter{"batch_split": {StringValue: value}}
	return cfg
}

// texts takes one BYTES input [b,1].
var texts = &inference.ModelConfig{
	Name: "t", MaxBatchSize: 64, Input: []*inference.ModelInput{{Name: "IMAGE", DataType: text, Dims: []int64{1}}},
}

// plain has no batch dimension, scalar not even a shape.
var (
	plain  = &inference.ModelConfig{Name: "p", Input: []*inference.ModelInput{{Name: "x", DataType: octets, Dims: []int64{3}}}}
	scalar = &inference.ModelConfig{Name: "s", MaxBatchSize: 4, Input: []*inference.ModelInput{{Name: "x", DataType: octets}}}
)

func image(batch int64, bytes int) oip.Tensor {
	return oip.Tensor{Name: "image", Datatype: "FP32", Shape: []int64{batch, 2, 2}, Data: make([]byte, bytes)}
}

func mask(shape ...int64) oip.Tensor {
	return oip.Tensor{Name: "mask", Datatype: "UINT8", Shape: shape, Data: make([]byte, 6)}
}

func request(tensors ...oip.Tensor) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: "m"}
	for _, t := range tensors {
		oip.AddInput(req, t)
	}
	return req
}

func asking(req *inference.ModelInferRequest, outputs ...string) *inference.ModelInferRequest {
	for _, name := range outputs {
		req.Outputs = append(req.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return req
}

func TestCheck(t *testing.T) {
	strange := image(1, 16)
	strange.Name = "imag"
	typed := image(1, 16)
	typed.Datatype = "float32"
	long := image(1, 16)
	long.Name = strings.Repeat("n", 200)
	short := request(image(1, 16))
	short.RawInputContents = nil
	tests := map[string]struct {
		cfg     *inference.ModelConfig
		req     *inference.ModelInferRequest
		batch   int64
		message string
	}{
		"one":                    {batching, request(image(1, 16)), 1, ""},
		"full batch, two":        {batching, request(image(2, 32), mask(2, 3)), 2, ""},
		"in another order":       {batching, request(mask(3, 2), image(3, 48)), 3, ""},
		"outputs":                {batching, asking(request(image(1, 16)), "ids", "logits"), 1, ""},
		"no batch dimension":     {plain, request(oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{3}, Data: make([]byte, 3)}), 1, ""},
		"scalar per item":        {scalar, request(oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{4}, Data: make([]byte, 4)}), 4, ""},
		"BYTES":                  {texts, request(oip.Tensor{Name: "IMAGE", Datatype: "BYTES", Shape: []int64{2, 1}, Data: oip.JoinStrings("a", "")}), 2, ""},
		"no inputs, none wanted": {&inference.ModelConfig{Name: "e", MaxBatchSize: 4}, request(), 1, ""},

		"BAT-01 too many bytes": {batching, request(image(1, 24)), 0, `input "image" has 24 bytes, but FP32 of shape [1,2,2] has 16`},
		"BAT-01 too few bytes":  {batching, request(image(1, 8)), 0, `input "image" has 8 bytes, but FP32 of shape [1,2,2] has 16`},
		"BAT-01 another's row":  {batching, request(image(1, 32)), 0, `input "image" has 32 bytes, but FP32 of shape [1,2,2] has 16`},
		"BAT-05 bytes as count": {
			texts, request(oip.Tensor{Name: "IMAGE", Datatype: "BYTES", Shape: []int64{59, 1}, Data: oip.JoinStrings(strings.Repeat("x", 55))}), 0,
			`input "IMAGE": 59 BYTES elements need at least 4 bytes each, but only 59 bytes were sent`,
		},
		"BAT-05 two rows in one": {
			texts, request(oip.Tensor{Name: "IMAGE", Datatype: "BYTES", Shape: []int64{1, 1}, Data: oip.JoinStrings("a", "b")}), 0,
			`input "IMAGE": 5 bytes are left after the last of 1 BYTES elements`,
		},
		"batch 0":                           {batching, request(image(0, 0)), 0, `input "image" has a batch of 0, the model takes 1 to 4`},
		"batch 5":                           {batching, request(image(5, 80)), 0, `input "image" has a batch of 5, the model takes 1 to 4`},
		"to be split, batch 5":              {splitting("true"), request(image(5, 80)), 5, ""},
		"to be split, batch 1024":           {splitting("1"), request(image(1024, 16384)), 1024, ""},
		"to be split, batch 1025":           {splitting("true"), request(image(1025, 16400)), 0, `input "image" has a batch of 1025, the model takes 1 to 1024`},
		"to be split, batch 0":              {splitting("true"), request(image(0, 0)), 0, `input "image" has a batch of 0, the model takes 1 to 1024`},
		"to be split, batches differ":       {splitting("true"), request(image(8, 128), mask(6, 1)), 0, `input "mask" has a batch of 6, but input "image" has 8`},
		"to be split, too few bytes":        {splitting("true"), request(image(5, 64)), 0, `input "image" has 64 bytes, but FP32 of shape [5,2,2] has 80`},
		"not to be split":                   {splitting("false"), request(image(5, 80)), 0, `input "image" has a batch of 5, the model takes 1 to 4`},
		"batches differ":                    {batching, request(image(2, 32), mask(3, 2)), 0, `input "mask" has a batch of 3, but input "image" has 2`},
		"negative":                          {batching, request(image(-1, 16)), 0, `input "image": shape [-1,2,2] has a negative dimension`},
		"overflow":                          {batching, request(image(math.MaxInt64, 16)), 0, `input "image": shape [9223372036854775807,2,2] has more elements than can be counted`},
		"no shape":                          {batching, request(oip.Tensor{Name: "image", Datatype: "FP32", Data: make([]byte, 16)}), 0, `input "image" has shape [], the model wants [-1,2,2]`},
		"no shape, no dims":                 {scalar, request(oip.Tensor{Name: "x", Datatype: "UINT8", Data: make([]byte, 1)}), 0, `input "x" has shape [], the model wants [-1]`},
		"wrong rank":                        {batching, request(oip.Tensor{Name: "image", Datatype: "FP32", Shape: []int64{2, 2}, Data: make([]byte, 16)}), 0, `input "image" has shape [2,2], the model wants [-1,2,2]`},
		"wrong dim":                         {plain, request(oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{4}, Data: make([]byte, 4)}), 0, `input "x" has shape [4], the model wants [3]`},
		"wrong datatype":                    {batching, request(typed), 0, `input "image" has datatype "float32", the model wants FP32`},
		"twice":                             {batching, request(image(1, 16), image(1, 16)), 0, `input "image" is given twice`},
		"unknown":                           {batching, request(strange), 0, `unknown input "imag", model "m" has "image", "mask"`},
		"unknown to a model without inputs": {&inference.ModelConfig{Name: "e"}, request(strange), 0, `unknown input "imag", model "e" has no inputs`},
		"a hostile name is cut":             {batching, request(long), 0, `unknown input "` + strings.Repeat("n", 128) + `...", model "m" has "image", "mask"`},
		"missing":                           {batching, request(mask(1, 6)), 0, `missing input "image", model "m" takes "image", "mask"`},
		"no inputs":                         {batching, request(), 0, `missing input "image", model "m" takes "image", "mask"`},
		"raw contents missing":              {batching, short, 0, "the request has 1 inputs but 0 raw_input_contents"},
		"output twice":                      {batching, asking(request(image(1, 16)), "ids", "ids"), 0, `output "ids" is asked for twice`},
		"unknown output":                    {batching, asking(request(image(1, 16)), "scores"), 0, `unknown output "scores", model "m" has "logits", "ids"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			batch, err := oip.Check(tt.req, tt.cfg)
			wantFailure(t, err, failure.Invalid, tt.message)
			if batch != tt.batch {
				t.Errorf("batch is %d, want %d", batch, tt.batch)
			}
		})
	}
}

func TestArrange(t *testing.T) {
	response := func() *inference.ModelInferResponse {
		resp := &inference.ModelInferResponse{Id: "7"}
		for _, name := range []string{"a", "b", "c"} {
			oip.AddOutput(resp, oip.Tensor{Name: name, Datatype: "UINT8", Shape: []int64{1}, Data: []byte(name)})
		}
		return resp
	}
	for _, tt := range []struct{ asked, want, message string }{
		{"", "abc", ""},
		{"ca", "ca", ""},
		{"abc", "abc", ""},
		{"ad", "abc", `the model gave no output "d"`},
	} {
		resp := response()
		err := oip.Arrange(asking(request(), strings.Split(tt.asked, "")...), resp)
		wantFailure(t, err, failure.Internal, tt.message)
		got := ""
		for i, out := range resp.GetOutputs() {
			if got += out.GetName(); string(resp.GetRawOutputContents()[i]) != out.GetName() {
				t.Errorf("asked for %q: output %s has the contents %q", tt.asked, out.GetName(), resp.GetRawOutputContents()[i])
			}
		}
		if got != tt.want || resp.GetId() != "7" {
			t.Errorf("asked for %q: got %q, want %q", tt.asked, got, tt.want)
		}
	}
	torn := &inference.ModelInferResponse{Outputs: []*inference.ModelInferResponse_InferOutputTensor{{Name: "a"}}}
	wantFailure(t, oip.Arrange(asking(request(), "a"), torn), failure.Internal, `the model gave no output "a"`)
}

// Whatever passes has, for each input, exactly the rows that it declares.
func FuzzCheck(f *testing.F) {
	for _, req := range []*inference.ModelInferRequest{
		request(image(1, 16)), request(image(2, 32), mask(2, 3)), request(image(1, 24)),
		request(oip.Tensor{Name: "image", Datatype: "FP32"}),
		{Inputs: []*inference.ModelInferRequest_InferInputTensor{{}}},
	} {
		wire, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var req inference.ModelInferRequest
		if proto.Unmarshal(wire, &req) != nil {
			return
		}
		if _, err := oip.MakeRaw(&req); err != nil {
			return
		}
		for _, cfg := range []*inference.ModelConfig{batching, texts, plain, scalar} {
			batch, err := oip.Check(&req, cfg)
			if err != nil && failure.KindOf(err) != failure.Invalid {
				t.Errorf("%v is %s", err, failure.KindOf(err))
			}
			if err == nil && cfg == batching && int64(len(req.GetRawInputContents()[index(&req, "image")])) != 16*batch {
				t.Errorf("a batch of %d passed with %v", batch, &req)
			}
		}
	})
}

func index(req *inference.ModelInferRequest, name string) int {
	for i, in := range req.GetInputs() {
		if in.GetName() == name {
			return i
		}
	}
	return -1
}
