// Package postprocess is the backend "classification": it turns the scores of a
// model into labels. It is written for one answer a row; boxes and masks are
// other backends' work.
package postprocess

import (
	"context"

	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Name is what a configuration's `backend` says to be run by this package.
const Name = "classification"

// Backend makes classification models. Safe for concurrent use.
type Backend struct {
	cfg Config
	tel *telemetry.Telemetry
}

var _ modelserver.Backend = (*Backend)(nil)

// NewBackend makes the backend. An error names the flag that is wrong.
func NewBackend(cfg Config, tel *telemetry.Telemetry) (*Backend, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if tel == nil {
		return nil, failure.New(failure.Internal, "the classification backend needs telemetry")
	}
	return &Backend{cfg: cfg, tel: tel}, nil
}

// Name is "classification".
func (b *Backend) Name() string { return Name }

// Load checks the model's configuration and reads its labels.
func (b *Backend) Load(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	s, err := readSettings(spec, b.cfg.MaxTopK)
	if err != nil {
		return nil, err
	}
	return newModel(s, b.cfg.MaxTopK, b.tel.Tracer), nil
}
