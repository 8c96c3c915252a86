package preprocess

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"triptych/services/preprocess/admission"
	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Name is what a configuration's `backend` says for this backend.
const Name = "image"

// Backend makes models that share a queue, metrics and a tracer. Safe for
// concurrent use.
type Backend struct {
	cfg     Config
	tracer  trace.Tracer
	metrics *metrics
	queue   *admission.Queue
	pool    pixels.Pool
	// profiles are for the models that want sRGB.
	profiles *decode.Profiles
}

var _ modelserver.Backend = (*Backend)(nil)

// NewBackend makes the backend "image". Its metrics are registered in tel, so
// that a registry can have one such backend. An error names the flag that is wrong.
func NewBackend(cfg Config, tel *telemetry.Telemetry) (*Backend, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(tel.Registry)
	if err != nil {
		return nil, err
	}
	queue, err := admission.New(cfg.admission(), tel.Registry)
	if err != nil {
		return nil, err
	}
	profiles, err := newProfiles(tel.Registry)
	if err != nil {
		return nil, err
	}
	return &Backend{cfg: cfg, tracer: tel.Tracer, metrics: m, queue: queue, profiles: profiles}, nil
}

// Name is "image".
func (b *Backend) Name() string { return Name }

// Load reads what the configuration says is to become of an image. There are no
// files to read.
func (b *Backend) Load(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	p, err := readPlan(spec.Config, b.cfg)
	if err != nil {
		return nil, err
	}
	if p.srgb {
		p.decode.Profiles = b.profiles
	}
	return &model{backend: b, plan: p}, nil
}
