package ensemble

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/pipeline"
	"triptych/shared/telemetry"
)

// model is one ensemble.
type model struct {
	config  *inference.ModelConfig
	plan    *pipeline.Plan
	steps   Steps
	tracer  trace.Tracer
	checked atomic.Pointer[verdict]
}

var (
	_ modelserver.TimedModel = (*model)(nil)
	_ modelserver.Prober     = (*model)(nil)
)

// Ready tells whether every step is served and fits.
func (m *model) Ready() error { return m.check().err }

// Infer implements modelserver.Model.
func (m *model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := m.InferTimed(ctx, req)
	return resp, err
}

// InferTimed runs the graph. Queue and compute are the sums over the steps, as
// Triton counts them.
func (m *model) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	name := m.config.GetName()
	ctx, span := m.tracer.Start(ctx, "ensemble "+name, trace.WithAttributes(attribute.String("triptych.model.name", name)))
	defer span.End()
	resp, timing, err := m.run(ctx, req)
	if err != nil {
		span.SetStatus(codes.Error, failure.Message(err))
		return nil, modelserver.Timing{}, err
	}
	return resp, timing, nil
}

func (m *model) run(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	ctx, err := deeper(ctx)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	v := m.check()
	if failure.KindOf(v.err) == failure.Invalid {
		// The steps are there and don't fit: no call can mend that.
		return nil, modelserver.Timing{}, failure.Wrap(v.err, failure.Unavailable, "ensemble %s can't run: %s", m.config.GetName(), failure.Message(v.err))
	}
	sum := &timings{}
	resp, err := m.plan.Execute(ctx, req, func(ctx context.Context, step *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return m.step(ctx, step, v, sum)
	})
	return resp, sum.timing(m.batch(req)), err
}

func (m *model) step(ctx context.Context, req *inference.ModelInferRequest, v *verdict, sum *timings) (*inference.ModelInferResponse, error) {
	ctx, span := m.tracer.Start(ctx, "step "+req.GetModelName(), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("rpc.system", "grpc"),
		attribute.String("triptych.model.name", req.GetModelName()),
	))
	defer span.End()
	start := time.Now()
	resp, peer, err := m.steps.Infer(ctx, req)
	span.SetAttributes(attribute.String("server.address", peer))
	if err != nil {
		telemetry.Fail(span, err)
		return nil, err
	}
	t := stepTiming(resp, time.Since(start))
	t.Backend = v.backends[pipeline.Step{Model: req.GetModelName(), Version: req.GetModelVersion()}]
	span.SetAttributes(attribute.String("triptych.model.version", t.Version))
	sum.add(t)
	pipeline.Record(ctx, t)
	return resp, nil
}

// batch is the batch size of a request that has been checked: 1 without a batch
// dimension.
func (m *model) batch(req *inference.ModelInferRequest) int {
	if m.config.GetMaxBatchSize() > 0 && len(req.GetInputs()) > 0 && len(req.GetInputs()[0].GetShape()) > 0 {
		return int(req.GetInputs()[0].GetShape()[0])
	}
	return 1
}

// Close implements modelserver.Model. Steps belong to others.
func (m *model) Close() error { return nil }
