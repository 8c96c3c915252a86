package target

import (
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Check judges the answer to tensor n, which it must not keep. It may be called
// concurrently.
type Check func(n int, resp *inference.ModelInferResponse) error

// NewTensors prepares requests with tensors in place of images, for GRPC only. A
// check may be nil: then any answer with an output is good. It sends nothing.
func NewTensors(o Options, tensors []oip.Tensor, check Check) (Target, error) {
	if o.Protocol != GRPC {
		return nil, failure.New(failure.Invalid, "--tensor needs --protocol grpc")
	}
	requests := make([][]byte, len(tensors))
	for i, tensor := range tensors {
		req := &inference.ModelInferRequest{ModelName: o.Model, ModelVersion: o.Version, Parameters: o.grpcParameters()}
		oip.AddInput(req, tensor)
		encoded, err := proto.Marshal(req)
		if err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "the request can't be encoded")
		}
		requests[i] = encoded
	}
	return newGRPC(o, requests, func(n int, resp *inference.ModelInferResponse) ([]string, error) {
		if len(resp.GetOutputs()) == 0 {
			return nil, bad("the answer has no output")
		}
		if check == nil {
			return nil, nil
		}
		return nil, check(n, resp)
	})
}
