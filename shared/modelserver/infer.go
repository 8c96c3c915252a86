package modelserver

import (
	"context"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// ModelInfer runs one request: the raw form of what came, checked, through the
// model, and back in the form that it came in. It makes the request's contents
// raw in place.
func (s *Service) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	start := time.Now()
	v, err := s.registry.acquire(req.GetModelName(), req.GetModelVersion(), (*version).status)
	if err != nil {
		s.registry.metrics.observeUnserved(err, time.Since(start))
		return nil, err
	}
	defer v.release()
	resp, err := v.answer(ctx, req, start)
	took := time.Since(start)
	s.registry.metrics.observe(v, err, took)
	if err != nil {
		v.stats.Failed(failure.KindOf(err), took)
		return nil, err
	}
	return resp, nil
}

// answer makes and counts the answer to a request that came at start. A panic of
// the model is the failure of this request alone, whichever door it came by.
func (v *version) answer(ctx context.Context, req *inference.ModelInferRequest, start time.Time) (resp *inference.ModelInferResponse, err error) {
	defer caught(&err, "model %q broke on this request", v.name)
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	typed, err := oip.MakeRaw(req)
	if err != nil {
		return nil, err
	}
	batch, err := oip.Check(req, v.config)
	if err != nil {
		return nil, err
	}
	resp, timing, err := v.infer(ctx, req, batch)
	if err != nil {
		return nil, err
	}
	resp.ModelName, resp.ModelVersion, resp.Id = v.name, v.String(), req.GetId()
	if err := oip.Arrange(req, resp); err != nil {
		return nil, err
	}
	if typed {
		if err := oip.MakeTyped(resp); err != nil {
			return nil, err
		}
	}
	setTiming(resp, timing)
	now := time.Now()
	v.stats.Succeeded(now, batch, now.Sub(start), timing)
	return resp, nil
}

func setTiming(resp *inference.ModelInferResponse, t Timing) {
	if resp.Parameters == nil {
		resp.Parameters = oip.Parameters{}
	}
	resp.Parameters[QueueParameter] = oip.Int64(t.Queue.Microseconds())
	resp.Parameters[ComputeParameter] = oip.Int64(t.Compute().Microseconds())
}
