package modelserver

import (
	"context"
	"errors"
	"io"
	"sync"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// streamConcurrency bounds the requests of one stream that are held at once.
// When so many are, the next is not read: the caller feels the flow control.
const streamConcurrency = 64

// inferFunc is ModelInfer of whatever serves the stream.
type inferFunc = func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error)

// ModelStreamInfer runs the requests of a stream side by side.
func (s *Service) ModelStreamInfer(stream inference.GRPCInferenceService_ModelStreamInferServer) error {
	return ServeStream(stream, s.ModelInfer)
}

// ServeStream answers each request of a stream with infer. Requests run side by
// side; answers come in the order of the requests, as Triton's do. The failure
// of one request is its answer; the stream goes on.
func ServeStream(stream inference.GRPCInferenceService_ModelStreamInferServer, infer inferFunc) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	turns := make(chan chan *inference.ModelStreamInferResponse, streamConcurrency)
	var running sync.WaitGroup
	running.Go(func() { sendInOrder(stream, turns) })
	err := receiveEach(stream, func(req *inference.ModelInferRequest) {
		turn := make(chan *inference.ModelStreamInferResponse, 1)
		turns <- turn
		running.Go(func() { turn <- streamAnswer(ctx, req, infer) })
	})
	if err != nil {
		cancel() // the caller has gone
	}
	close(turns)
	running.Wait()
	return err
}

func receiveEach(stream inference.GRPCInferenceService_ModelStreamInferServer, handle func(*inference.ModelInferRequest)) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		handle(req)
	}
}

// sendInOrder sends each answer when its turn comes. One that can't be sent ends
// the stream, which receiving then notices.
func sendInOrder(stream inference.GRPCInferenceService_ModelStreamInferServer, turns <-chan chan *inference.ModelStreamInferResponse) {
	var failed error
	for turn := range turns {
		answer := <-turn
		if failed == nil {
			failed = stream.Send(answer)
		}
	}
}

func streamAnswer(ctx context.Context, req *inference.ModelInferRequest, infer inferFunc) *inference.ModelStreamInferResponse {
	resp, err := inferCaught(ctx, req, infer)
	if err != nil {
		return &inference.ModelStreamInferResponse{
			ErrorMessage:  failure.Message(err),
			InferResponse: &inference.ModelInferResponse{ModelName: req.GetModelName(), Id: req.GetId()},
		}
	}
	return &inference.ModelStreamInferResponse{InferResponse: resp}
}

// inferCaught keeps a panic from ending the process: nobody stands around the
// goroutine of a stream's request.
func inferCaught(ctx context.Context, req *inference.ModelInferRequest, infer inferFunc) (resp *inference.ModelInferResponse, err error) {
	defer caught(&err, "internal error")
	return infer(ctx, req)
}
