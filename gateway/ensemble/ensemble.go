// Package ensemble is the backend of models that are graphs of other models. It
// runs a plan; where a step is served is the business of whoever it is given.
package ensemble

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
	"triptych/shared/telemetry"
)

// Steps is where an ensemble's steps are served.
type Steps interface {
	// Infer runs one step's request; peer names who ran it.
	Infer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, peer string, err error)
	// Config is the configuration of a version, or of the latest one that is
	// ready. Unavailable says why it can't be had now.
	Config(name, version string) (*inference.ModelConfig, error)
	// Generation changes when an answer of Config may have.
	Generation() uint64
}

// Backend loads ensembles.
type Backend struct {
	steps  Steps
	tracer trace.Tracer
}

var _ modelserver.Backend = (*Backend)(nil)

// NewBackend makes a backend whose steps run at steps.
func NewBackend(steps Steps, tel *telemetry.Telemetry) *Backend {
	return &Backend{steps: steps, tracer: tel.Tracer}
}

// Name implements modelserver.Backend.
func (b *Backend) Name() string { return modelconfig.EnsemblePlatform }

// Load compiles the graph. What the steps' models want is checked when they are
// known, for they may be served by services that are not up yet: until then the
// ensemble is not ready.
func (b *Backend) Load(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	plan, err := pipeline.Compile(spec.Config)
	if err != nil {
		return nil, failure.Prefix("ensemble "+spec.Name(), err)
	}
	return &model{name: spec.Name(), plan: plan, steps: b.steps, tracer: b.tracer}, nil
}

// model is one ensemble.
type model struct {
	name    string
	plan    *pipeline.Plan
	steps   Steps
	tracer  trace.Tracer
	checked atomic.Pointer[verdict]
}

var (
	_ modelserver.TimedModel = (*model)(nil)
	_ modelserver.Prober     = (*model)(nil)
)

// verdict is what the steps' configurations of one generation meant.
type verdict struct {
	generation uint64
	err        error
	backends   []string // of the steps, by their place in the plan
}

// Ready tells whether every step is served and fits.
func (m *model) Ready() error { return m.check().err }

func (m *model) check() *verdict {
	generation := m.steps.Generation()
	if v := m.checked.Load(); v != nil && v.generation == generation {
		return v
	}
	v := &verdict{generation: generation}
	configs := make([]*inference.ModelConfig, 0, len(m.plan.Steps()))
	for _, s := range m.plan.Steps() {
		cfg, err := m.steps.Config(s.Model, s.Version)
		if err != nil && v.err == nil {
			v.err = failure.Prefix("step "+s.Model, err)
		}
		configs = append(configs, cfg)
		v.backends = append(v.backends, modelconfig.BackendOf(cfg))
	}
	if v.err == nil {
		v.err = m.plan.Check(configs)
	}
	m.checked.Store(v)
	return v
}

// Infer implements modelserver.Model.
func (m *model) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	resp, _, err := m.InferTimed(ctx, req)
	return resp, err
}

// InferTimed runs the graph. Queue and compute are the sums over the steps, as
// Triton counts them.
func (m *model) InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	ctx, err := deeper(ctx)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	v := m.check()
	if failure.KindOf(v.err) == failure.Invalid {
		// The steps are there and don't fit: no call can mend that.
		return nil, modelserver.Timing{}, failure.Wrap(v.err, failure.Unavailable, "ensemble %s can't run: %s", m.name, failure.Message(v.err))
	}
	ctx, span := m.tracer.Start(ctx, "ensemble "+m.name, trace.WithAttributes(attribute.String("triptych.model.name", m.name)))
	defer span.End()
	sum := &timings{}
	resp, err := m.plan.Execute(ctx, req, func(ctx context.Context, step *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return m.step(ctx, step, v, sum)
	})
	if err != nil {
		span.SetStatus(codes.Error, failure.Message(err))
		return nil, modelserver.Timing{}, err
	}
	return resp, sum.timing(batchOf(req)), nil
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
		span.RecordError(err)
		span.SetStatus(codes.Error, failure.Message(err))
		return nil, err
	}
	t := stepTiming(resp, time.Since(start))
	t.Backend = v.backend(m.plan, req)
	span.SetAttributes(attribute.String("triptych.model.version", t.Version))
	sum.add(t)
	pipeline.Record(ctx, t)
	return resp, nil
}

func (v *verdict) backend(plan *pipeline.Plan, req *inference.ModelInferRequest) string {
	for i, s := range plan.Steps() {
		if s.Model == req.GetModelName() && s.Version == req.GetModelVersion() {
			return v.backends[i]
		}
	}
	return ""
}

func stepTiming(resp *inference.ModelInferResponse, total time.Duration) pipeline.StepTiming {
	micros := func(key string) time.Duration {
		// A server that is not ours tells no times, which counts as 0.
		n, _ := oip.IntParameter(resp.GetParameters(), key, 0)
		return time.Duration(n) * time.Microsecond
	}
	return pipeline.StepTiming{
		Model: resp.GetModelName(), Version: resp.GetModelVersion(), Total: total,
		Queue: micros(modelserver.QueueParameter), Compute: micros(modelserver.ComputeParameter),
	}
}

// timings sums what the steps of one request took. Steps may run side by side.
type timings struct {
	mu             sync.Mutex
	queue, compute time.Duration
}

func (t *timings) add(s pipeline.StepTiming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue += s.Queue
	t.compute += s.Compute
}

func (t *timings) timing(batch int) modelserver.Timing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return modelserver.Timing{Queue: t.queue, ComputeInfer: t.compute, Batch: batch, Executions: 1}
}

func batchOf(req *inference.ModelInferRequest) int {
	if len(req.GetInputs()) > 0 && len(req.GetInputs()[0].GetShape()) > 0 {
		return int(req.GetInputs()[0].GetShape()[0])
	}
	return 1
}

// Close implements modelserver.Model. Steps belong to others.
func (m *model) Close() error { return nil }
