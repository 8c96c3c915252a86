package modelserver

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/capacity"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// ModelInfer runs one request: the raw form of what came, checked, through the
// model, and back in the form that it came in. It makes the request's contents
// raw in place, and neither may be changed later: a run that others wait for may
// read them when this caller has gone. The bytes of an answer's tensors may be
// shared with other callers' answers: they must not be written.
func (s *Service) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	start := time.Now()
	defer s.waited.begin(ctx)()
	v, err := s.registry.acquire(req.GetModelName(), req.GetModelVersion(), (*version).status)
	if err != nil {
		s.registry.metrics.observeUnserved(err, time.Since(start))
		return nil, err
	}
	defer v.release()
	resp, err := v.answer(ctx, req, start)
	v.report(ctx, err)
	took := time.Since(start)
	s.registry.metrics.observe(v, err, took)
	if err != nil {
		v.stats.Failed(failure.KindOf(err), took)
		return nil, err
	}
	return resp, nil
}

// report tells whoever listens to the call how much more the model can take, with
// each failure, and with as many of the other answers as are wanted.
func (v *version) report(ctx context.Context, err error) {
	reporter, ok := v.model.(Reporter)
	if !ok {
		return
	}
	if told := capacity.Of(ctx); told != nil && (err != nil || told.Wants(v.name, v.number, time.Now())) {
		told.Tell(reporter.Capacity())
	}
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
	got, err := v.serve(ctx, req, batch)
	if err != nil {
		return nil, err
	}
	resp = got.response
	resp.ModelName, resp.ModelVersion, resp.Id = v.name, v.String(), req.GetId()
	if err := oip.Arrange(req, resp); err != nil {
		return nil, err
	}
	if typed {
		if err := oip.MakeTyped(resp); err != nil {
			return nil, err
		}
	}
	tell(resp, got)
	v.count(got, batch, start)
	return resp, nil
}

// serve runs the model, unless its response cache has the answer.
func (v *version) serve(ctx context.Context, req *inference.ModelInferRequest, batch int64) (served, error) {
	if v.cache != nil {
		got, err := v.cache.answer(ctx, req, batch)
		if err == nil {
			trace.SpanFromContext(ctx).SetAttributes(attribute.String("triptych.cache", got.from))
		}
		return got, err
	}
	resp, timing, err := v.infer(ctx, req, batch)
	if err != nil {
		v.stats.abandoned(err, timing)
		return served{}, err
	}
	return served{response: resp, timing: timing}, nil
}

// count counts an answer. What a cached version ran has been counted by its run.
func (v *version) count(got served, batch int64, start time.Time) {
	now := time.Now()
	total := now.Sub(start)
	v.instruments.firstResponse.Observe(float64(total) / float64(time.Millisecond))
	if got.from == "" {
		v.stats.Succeeded(now, batch, total, got.timing)
		return
	}
	v.stats.answered(now, total)
}

// tell puts into an answer where it came from and where its time went.
func tell(resp *inference.ModelInferResponse, got served) {
	if resp.Parameters == nil {
		resp.Parameters = oip.Parameters{}
	}
	resp.Parameters[QueueParameter] = oip.Int64(got.timing.Queue.Microseconds())
	resp.Parameters[ComputeParameter] = oip.Int64(got.timing.Compute().Microseconds())
	if got.from != "" {
		resp.Parameters[CacheParameter] = oip.String(got.from)
	}
}
