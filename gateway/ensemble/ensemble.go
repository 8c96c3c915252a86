// Package ensemble is the backend of models that are graphs of other models. It
// runs a plan; where a step is served is the business of whoever it is given.
package ensemble

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/pipeline"
	"triptych/shared/telemetry"
)

// Steps is where an ensemble's steps are served.
type Steps interface {
	// Infer runs one step's request; peer names who ran it.
	Infer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, peer string, err error)
	// Config is the configuration of a version, or of the latest one that is
	// ready. Unavailable says why it can't be had now. An ensemble's must be given
	// without asking whether the ensemble is ready.
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
	return &model{config: spec.Config, plan: plan, steps: b.steps, tracer: b.tracer}, nil
}
