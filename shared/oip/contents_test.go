package oip_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

type contents = inference.InferTensorContents

// Every datatype there and back: typed into raw bytes, raw bytes into typed.
func TestContentsRoundTrip(t *testing.T) {
	tests := map[string]struct {
		typed *contents
		count int64
		raw   string
	}{
		"BOOL":   {&contents{BoolContents: []bool{true, false}}, 2, "\x01\x00"},
		"INT8":   {&contents{IntContents: []int32{-128, 127}}, 2, "\x80\x7f"},
		"INT16":  {&contents{IntContents: []int32{-32768, 32767}}, 2, "\x00\x80\xff\x7f"},
		"INT32":  {&contents{IntContents: []int32{math.MinInt32, 1}}, 2, "\x00\x00\x00\x80\x01\x00\x00\x00"},
		"INT64":  {&contents{Int64Contents: []int64{math.MinInt64}}, 1, "\x00\x00\x00\x00\x00\x00\x00\x80"},
		"UINT8":  {&contents{UintContents: []uint32{0, 255}}, 2, "\x00\xff"},
		"UINT16": {&contents{UintContents: []uint32{258, 65535}}, 2, "\x02\x01\xff\xff"},
		"UINT32": {&contents{UintContents: []uint32{math.MaxUint32}}, 1, "\xff\xff\xff\xff"},
		"UINT64": {&contents{Uint64Contents: []uint64{math.MaxUint64, 1}}, 2, "\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x00"},
		"FP32":   {&contents{Fp32Contents: []float32{1, float32(math.Inf(-1))}}, 2, "\x00\x00\x80\x3f\x00\x00\x80\xff"},
		"FP64":   {&contents{Fp64Contents: []float64{1}}, 1, "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
		"BYTES":  {&contents{BytesContents: [][]byte{[]byte("ab"), {}}}, 2, "\x02\x00\x00\x00ab\x00\x00\x00\x00"},
	}
	for datatype, tt := range tests {
		t.Run(datatype, func(t *testing.T) {
			req := &inference.ModelInferRequest{Inputs: []*inference.ModelInferRequest_InferInputTensor{
				{Name: "x", Datatype: datatype, Shape: []int64{tt.count}, Contents: tt.typed},
			}}
			typed, err := oip.MakeRaw(req)
			if err != nil || !typed {
				t.Fatalf("MakeRaw gives %t, %v", typed, err)
			}
			if got := string(req.GetRawInputContents()[0]); got != tt.raw || req.GetInputs()[0].GetContents() != nil {
				t.Errorf("raw is %q, want %q", got, tt.raw)
			}
			resp := &inference.ModelInferResponse{}
			oip.AddOutput(resp, oip.Tensor{Name: "x", Datatype: datatype, Shape: []int64{tt.count}, Data: []byte(tt.raw)})
			if err := oip.MakeTyped(resp); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.typed, resp.GetOutputs()[0].GetContents(), protocmp.Transform()); diff != "" || resp.GetRawOutputContents() != nil {
				t.Errorf("typed again: %s", diff)
			}
		})
	}
}

func TestMakeRawRefuses(t *testing.T) {
	input := func(datatype string, c *contents) *inference.ModelInferRequest_InferInputTensor {
		return &inference.ModelInferRequest_InferInputTensor{Name: "x", Datatype: datatype, Shape: []int64{1}, Contents: c}
	}
	tests := map[string]struct {
		input   *inference.ModelInferRequest_InferInputTensor
		raw     [][]byte
		message string
	}{
		"INT8 above":     {input("INT8", &contents{IntContents: []int32{0, 128}}), nil, `input "x": element 1 is 128, which is not a INT8`},
		"INT8 below":     {input("INT8", &contents{IntContents: []int32{-129}}), nil, `input "x": element 0 is -129, which is not a INT8`},
		"INT16 above":    {input("INT16", &contents{IntContents: []int32{32768}}), nil, `input "x": element 0 is 32768, which is not a INT16`},
		"UINT8 above":    {input("UINT8", &contents{UintContents: []uint32{256}}), nil, `input "x": element 0 is 256, which is not a UINT8`},
		"UINT16 above":   {input("UINT16", &contents{UintContents: []uint32{65536}}), nil, `input "x": element 0 is 65536, which is not a UINT16`},
		"wrong list":     {input("FP32", &contents{Fp64Contents: []float64{1}}), nil, `input "x": values of datatype FP32 go into fp32_contents, not into fp64_contents`},
		"two lists":      {input("INT64", &contents{Int64Contents: []int64{1}, IntContents: []int32{2}}), nil, `input "x": values of datatype INT64 go into int64_contents, not into int_contents`},
		"FP16":           {input("FP16", &contents{Fp32Contents: []float32{1}}), nil, `input "x": datatype FP16 has no typed contents, send raw_input_contents`},
		"BF16":           {input("BF16", &contents{}), nil, `input "x": datatype BF16 has no typed contents, send raw_input_contents`},
		"unknown":        {input("float32", &contents{}), nil, `input "x": unknown datatype "float32"`},
		"mixed":          {input("UINT8", &contents{UintContents: []uint32{1}}), [][]byte{{1}}, "the request mixes raw_input_contents with typed contents"},
		"too many raw":   {input("UINT8", nil), [][]byte{{1}, {2}}, "the request has 1 inputs but 2 raw_input_contents"},
		"nothing at all": {input("", nil), nil, `input "x": unknown datatype ""`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := &inference.ModelInferRequest{RawInputContents: tt.raw, Inputs: []*inference.ModelInferRequest_InferInputTensor{tt.input}}
			_, err := oip.MakeRaw(req)
			wantFailure(t, err, failure.Invalid, tt.message)
		})
	}
}

func TestMakeRawLeavesRawAlone(t *testing.T) {
	req := request(image(1, 16))
	data := req.GetRawInputContents()[0]
	typed, err := oip.MakeRaw(req)
	if err != nil || typed || &req.GetRawInputContents()[0][0] != &data[0] {
		t.Errorf("typed is %t, err %v", typed, err)
	}
	empty := &inference.ModelInferRequest{}
	if typed, err := oip.MakeRaw(empty); err != nil || typed || len(empty.GetRawInputContents()) != 0 {
		t.Errorf("without inputs: typed is %t, err %v", typed, err)
	}
}

// Wrong contents of a response are the model's fault, never the caller's.
func TestMakeTypedRefuses(t *testing.T) {
	tests := map[string]struct {
		output  oip.Tensor
		message string
	}{
		"too few bytes":  {oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{2}, Data: make([]byte, 7)}, `output "y": "FP32" of shape [2] does not have 7 bytes`},
		"too many bytes": {oip.Tensor{Name: "y", Datatype: "UINT8", Shape: []int64{2}, Data: make([]byte, 3)}, `output "y": "UINT8" of shape [2] does not have 3 bytes`},
		"negative shape": {oip.Tensor{Name: "y", Datatype: "UINT8", Shape: []int64{-1}}, `output "y": shape [-1] has a negative dimension`},
		"BYTES":          {oip.Tensor{Name: "y", Datatype: "BYTES", Shape: []int64{1}, Data: make([]byte, 5)}, `output "y": 1 bytes are left after the last of 1 BYTES elements`},
		"unknown":        {oip.Tensor{Name: "y", Datatype: "complex"}, `output "y": unknown datatype "complex"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp := &inference.ModelInferResponse{}
			oip.AddOutput(resp, tt.output)
			wantFailure(t, oip.MakeTyped(resp), failure.Internal, tt.message)
		})
	}
	torn := &inference.ModelInferResponse{Outputs: []*inference.ModelInferResponse_InferOutputTensor{{Name: "y", Datatype: "FP32"}}}
	wantFailure(t, oip.MakeTyped(torn), failure.Internal, "the model gave 1 outputs but 0 raw contents")
}

// FP16 has no typed form, so the whole answer stays raw.
func TestMakeTypedKeepsHalves(t *testing.T) {
	for _, half := range []string{"FP16", "BF16"} {
		resp := &inference.ModelInferResponse{}
		oip.AddOutput(resp, oip.Tensor{Name: "a", Datatype: "UINT8", Shape: []int64{1}, Data: []byte{1}})
		oip.AddOutput(resp, oip.Tensor{Name: "b", Datatype: half, Shape: []int64{1}, Data: []byte{1, 2}})
		if err := oip.MakeTyped(resp); err != nil || len(resp.GetRawOutputContents()) != 2 || resp.GetOutputs()[0].GetContents() != nil {
			t.Errorf("%s: got %v, %v", half, resp, err)
		}
	}
}
