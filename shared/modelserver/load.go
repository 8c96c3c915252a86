package modelserver

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// loadVersion completes, checks, loads and warms up one version, and sets its
// state.
func (r *Registry) loadVersion(ctx context.Context, e Entry, v *version) error {
	start := time.Now()
	backend := r.backends[modelconfig.BackendOf(v.config)]
	spec := Spec{Config: v.config, Version: v.number, Directory: e.Directory}
	m, err := loadModel(ctx, backend, spec, e.Document)
	log := r.telemetry.Logger.With("model", e.Name, "version", v.number)
	if err != nil {
		v.failed(failure.Message(err))
		log.Error("model not loaded", "error", err)
		return err
	}
	took := time.Since(start)
	v.loaded(m, took)
	log.Info("model loaded", "backend", backend.Name(), "seconds", took.Seconds())
	return nil
}

// loadModel turns a panic of a backend into an error: one bad model must not
// take the others with it.
func loadModel(ctx context.Context, backend Backend, spec Spec, d *modelconfig.Document) (m Model, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure.New(failure.Internal, "the backend %q broke while it loaded: %v\n%s", backend.Name(), p, debug.Stack())
		}
	}()
	if c, ok := backend.(Completer); ok {
		if err := c.Complete(ctx, spec); err != nil {
			return nil, err
		}
	}
	if err := d.Derive(spec.Config).Check(); err != nil {
		return nil, err
	}
	m, err = backend.Load(ctx, spec)
	if err != nil {
		return nil, err
	}
	if w, ok := m.(Warmer); ok {
		if err := w.WarmUp(ctx); err != nil {
			return nil, errors.Join(failure.Prefix("warm-up", err), m.Close())
		}
	}
	return m, nil
}
