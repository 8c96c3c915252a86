package preprocess

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Name is what a configuration's `backend` says for this backend.
const Name = "image"

// backend makes models that share workers, metrics and a tracer.
type backend struct {
	config  Config
	tracer  trace.Tracer
	metrics *metrics
	workers *workers
}

var _ modelserver.Backend = (*backend)(nil)

// NewBackend makes the backend "image". Its metrics are registered in tel, so
// that a registry can have one such backend.
func NewBackend(config Config, tel *telemetry.Telemetry) (modelserver.Backend, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(tel.Registry)
	if err != nil {
		return nil, err
	}
	return &backend{
		config: config, tracer: tel.Tracer, metrics: m, workers: newWorkers(config.Workers, config.Queue),
	}, nil
}

// Name is "image".
func (b *backend) Name() string { return Name }

// Load reads what the configuration says is to become of an image. There are no
// files to read.
func (b *backend) Load(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	p, err := readPlan(spec.Config, b.config)
	if err != nil {
		return nil, err
	}
	return &model{backend: b, plan: p}, nil
}
