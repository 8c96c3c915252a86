package measure

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Request asks the model for the tensors of images, given as the BYTES input.
func Request(model, input string, images ...[]byte) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: model}
	oip.AddInput(req, oip.Tensor{
		Name: input, Datatype: oip.Bytes, Shape: []int64{int64(len(images)), 1}, Data: oip.JoinStrings(images...),
	})
	return req
}

// Result is what a number of calls took.
type Result struct {
	Calls int
	// Took is the time that passed.
	Took time.Duration
	// CPU is the service's processor time for all calls.
	CPU time.Duration
	// Peak is the most memory that the service ever had.
	Peak int64
}

// CPUPerCall is the service's processor time for one call.
func (r Result) CPUPerCall() time.Duration { return r.CPU / time.Duration(max(r.Calls, 1)) }

// Load sends as many requests as calls says, so many callers at once, and takes the
// requests in turn. The first failure is the result's error.
func (s *Service) Load(ctx context.Context, requests []*inference.ModelInferRequest, callers, calls int) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before, err := s.Usage()
	if err != nil {
		return Result{}, err
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < calls && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if _, err := s.client.ModelInfer(ctx, requests[i%len(requests)]); err != nil {
					cancel(failure.FromStatus(err, "preprocess"))
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	after, err := s.Usage()
	return Result{Calls: calls, Took: took, CPU: after.CPU - before.CPU, Peak: after.Peak}, err
}
