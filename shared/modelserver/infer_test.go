package modelserver_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/testkit/servertest"
)

// pairConfig is a model with two outputs and an optional input.
const pairConfig = `backend: "double"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: 2 }, { name: "more" data_type: TYPE_STRING dims: 1 optional: true } ]
output [ { name: "sum" data_type: TYPE_FP32 dims: 1 }, { name: "text" data_type: TYPE_STRING dims: 1 } ]
`

// pair gives its outputs in the other order, and the parameters that it got.
func pair(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	x, _ := oip.Input(req, "x")
	n := x.Shape[0]
	sums, texts := make([]float32, n), make([][]byte, n)
	for i, values := 0, servertest.Floats(x.Data); i < int(n); i++ {
		sums[i], texts[i] = values[2*i]+values[2*i+1], []byte(req.GetId())
	}
	resp := &inference.ModelInferResponse{Parameters: oip.Parameters{"own": oip.Int64(7)}}
	oip.AddOutput(resp, oip.Tensor{Name: "text", Datatype: "BYTES", Shape: []int64{n, 1}, Data: oip.JoinStrings(texts...)})
	oip.AddOutput(resp, oip.Tensor{Name: "sum", Datatype: "FP32", Shape: []int64{n, 1}, Data: servertest.Raw(sums...)})
	return resp, nil
}

func pairServer(t *testing.T) *servertest.Server {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{"pair/config.pbtxt": pairConfig, "pair/3/": ""})
	return servertest.Start(t, servertest.Options{Folders: []string{folder}}, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: pair}, nil
	}))
}

func outputs(names ...string) []*inference.ModelInferRequest_InferRequestedOutputTensor {
	var list []*inference.ModelInferRequest_InferRequestedOutputTensor
	for _, name := range names {
		list = append(list, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return list
}

func names(resp *inference.ModelInferResponse) []string {
	var list []string
	for _, out := range resp.GetOutputs() {
		list = append(list, out.GetName())
	}
	return list
}

func TestInferRaw(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t, pairServer(t).Address)
	tests := map[string]struct {
		ask  []string
		want []string
	}{
		"all":      {nil, []string{"text", "sum"}},
		"subset":   {[]string{"sum"}, []string{"sum"}},
		"order":    {[]string{"sum", "text"}, []string{"sum", "text"}},
		"reversed": {[]string{"text", "sum"}, []string{"text", "sum"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := servertest.Request("pair", 1, 2, 3, 4)
			req.Id, req.Outputs = "id-"+name, outputs(test.ask...)
			resp, err := client.ModelInfer(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, names(resp)); diff != "" {
				t.Error(diff)
			}
			if resp.GetModelName() != "pair" || resp.GetModelVersion() != "3" || resp.GetId() != req.GetId() {
				t.Errorf("got %v", resp)
			}
			if len(resp.GetRawOutputContents()) != len(test.want) || resp.GetOutputs()[0].GetContents() != nil {
				t.Errorf("the answer is not raw: %v", resp)
			}
			if diff := cmp.Diff([]float32{3, 7}, servertest.Answer(resp, "sum")); diff != "" {
				t.Error(diff)
			}
			for _, key := range []string{"own", modelserver.QueueParameter, modelserver.ComputeParameter} {
				if resp.GetParameters()[key] == nil {
					t.Errorf("no parameter %s in %v", key, resp.GetParameters())
				}
			}
		})
	}
}

func TestInferTyped(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t, pairServer(t).Address)
	resp, err := client.ModelInfer(t.Context(), &inference.ModelInferRequest{
		ModelName: "pair", Id: "typed", Outputs: outputs("sum", "text"),
		Inputs: []*inference.ModelInferRequest_InferInputTensor{{
			Name: "x", Datatype: "FP32", Shape: []int64{1, 2}, Contents: &inference.InferTensorContents{Fp32Contents: []float32{1, 2}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.GetRawOutputContents()) != 0 {
		t.Errorf("the answer is raw: %v", resp)
	}
	sum, text := resp.GetOutputs()[0].GetContents().GetFp32Contents(), resp.GetOutputs()[1].GetContents().GetBytesContents()
	if diff := cmp.Diff([]float32{3}, sum); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]byte{[]byte("typed")}, text); diff != "" {
		t.Error(diff)
	}
}

func TestInferRefuses(t *testing.T) {
	t.Parallel()
	client := servertest.Client(t, pairServer(t).Address)
	tests := map[string]struct {
		change func(*inference.ModelInferRequest)
		want   string
	}{
		"datatype":       {func(r *inference.ModelInferRequest) { r.Inputs[0].Datatype = "FP64" }, `input "x" has datatype "FP64", the model wants FP32`},
		"shape":          {func(r *inference.ModelInferRequest) { r.Inputs[0].Shape = []int64{2} }, `input "x" has shape [2], the model wants [-1,2]`},
		"bytes":          {func(r *inference.ModelInferRequest) { r.RawInputContents[0] = r.RawInputContents[0][1:] }, `input "x" has 7 bytes, but FP32 of shape [1,2] has 8`},
		"batch":          {func(r *inference.ModelInferRequest) { r.Inputs[0].Shape[0] = 5 }, `input "x" has a batch of 5, the model takes 1 to 4`},
		"unknown output": {func(r *inference.ModelInferRequest) { r.Outputs = outputs("sum", "none") }, `unknown output "none", model "pair" has "sum", "text"`},
		"output twice":   {func(r *inference.ModelInferRequest) { r.Outputs = outputs("sum", "sum") }, `output "sum" is asked for twice`},
		"no input":       {func(r *inference.ModelInferRequest) { r.Inputs, r.RawInputContents = nil, nil }, `missing input "x", model "pair" takes "x", "more"`},
		"raw count":      {func(r *inference.ModelInferRequest) { r.RawInputContents = append(r.RawInputContents, nil) }, `the request has 1 inputs but 2 raw_input_contents`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := servertest.Request("pair", 1, 2)
			test.change(req)
			_, err := client.ModelInfer(t.Context(), req)
			if status.Code(err) != codes.InvalidArgument || status.Convert(err).Message() != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// failing is what models do wrong, by the first value of the request.
func failing(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	switch servertest.Floats(req.GetRawInputContents()[0])[0] {
	case 1:
		panic("index out of range [7] with length 3")
	case 2:
		return nil, errors.New("a secret of ours")
	case 3:
		return nil, nil //nolint:nilnil // a model that breaks its promise
	case 4:
		return &inference.ModelInferResponse{}, nil
	case 5: // says that it has an output, and has no bytes for it
		return &inference.ModelInferResponse{Outputs: []*inference.ModelInferResponse_InferOutputTensor{{Name: "y", Datatype: "FP32", Shape: []int64{1, 2}}}}, nil
	case 6:
		return nil, failure.New(failure.BrokenImage, "image 0 is truncated")
	}
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{1, 2}, Data: req.GetRawInputContents()[0]})
	return resp, nil
}

func TestInferFails(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	server := servertest.Start(t, servertest.Options{Folders: []string{folder}}, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Model{OnInfer: failing}, nil
	}))
	client := servertest.Client(t, server.Address)
	tests := map[string]struct {
		value  float32
		typed  bool
		ask    []string
		kind   failure.Kind
		want   string
		secret string // what only logs may show
	}{
		"panic":            {1, false, nil, failure.Internal, `model "m" broke on this request`, "index out of range [7]"},
		"plain error":      {2, false, nil, failure.Internal, "internal error", "a secret of ours"},
		"no answer":        {3, false, nil, failure.Internal, `model "m" broke on this request`, "nil pointer"},
		"no output":        {4, false, []string{"y"}, failure.Internal, `the model gave no output "y"`, ""},
		"no bytes":         {5, true, nil, failure.Internal, `the model gave 1 outputs but 0 raw contents`, ""},
		"a caller's fault": {6, false, nil, failure.BrokenImage, "image 0 is truncated", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := func() *inference.ModelInferRequest {
				req := servertest.Request("m", test.value, 0)
				req.Outputs = outputs(test.ask...)
				if test.typed {
					req.RawInputContents = nil
					req.Inputs[0].Contents = &inference.InferTensorContents{Fp32Contents: []float32{test.value, 0}}
				}
				return req
			}
			var others sync.WaitGroup
			for range 8 { // who asks at the same time is not hurt
				others.Go(func() {
					if _, err := client.ModelInfer(t.Context(), servertest.Request("m", 0, 0)); err != nil {
						t.Error(err)
					}
				})
			}
			resp, err := server.Service.ModelInfer(t.Context(), ask())
			if resp != nil || failure.KindOf(err) != test.kind || failure.Message(err) != test.want || !strings.Contains(err.Error(), test.secret) {
				t.Errorf("in process: got %v, %s %v", resp, failure.KindOf(err), err)
			}
			_, err = client.ModelInfer(t.Context(), ask())
			if status.Code(err) != test.kind.GRPCCode() || status.Convert(err).Message() != test.want {
				t.Errorf("by gRPC: got %v", err)
			}
			others.Wait()
		})
	}
}

func TestInferOfNobody(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	ran := false
	s := newService(newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Map(func(x float32) float32 { ran = true; return x }), nil
	})))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ModelInfer(gone, servertest.Request("m", 1, 2)); failure.KindOf(err) != failure.Cancelled {
		t.Errorf("got %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	if _, err := s.ModelInfer(late, servertest.Request("m", 1, 2)); failure.KindOf(err) != failure.Deadline {
		t.Errorf("got %v", err)
	}
	if ran {
		t.Error("the model ran for nobody")
	}
}
