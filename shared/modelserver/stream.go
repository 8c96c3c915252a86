package modelserver

import (
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// streamConcurrency bounds the requests of one stream that run at once.
const streamConcurrency = 64

// inferFunc is ModelInfer of whatever serves the stream.
type inferFunc = func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error)

// ModelStreamInfer runs the requests of a stream side by side.
func (s *Service) ModelStreamInfer(stream inference.GRPCInferenceService_ModelStreamInferServer) error {
	return ServeStream(stream, s.ModelInfer)
}

// ServeStream answers each request of a stream with infer, at most a fixed
// number at once. The failure of one request is its answer; the stream goes on.
func ServeStream(stream inference.GRPCInferenceService_ModelStreamInferServer, infer inferFunc) error {
	var sending sync.Mutex
	group, ctx := errgroup.WithContext(stream.Context())
	group.SetLimit(streamConcurrency)
	for {
		req, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(group.Wait(), err)
		}
		group.Go(func() error {
			answer := &inference.ModelStreamInferResponse{}
			resp, err := infer(ctx, req)
			if err != nil {
				answer.ErrorMessage = failure.Message(err)
				resp = &inference.ModelInferResponse{ModelName: req.GetModelName(), Id: req.GetId()}
			}
			answer.InferResponse = resp
			sending.Lock()
			defer sending.Unlock()
			return stream.Send(answer)
		})
	}
}
