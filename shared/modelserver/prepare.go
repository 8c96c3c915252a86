package modelserver

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// prepare makes the versions to load, each with its own copy of the
// configuration.
func (r *Registry) prepare(e Entry) (*model, error) {
	there, err := versionsThere(e)
	if err != nil {
		return nil, err
	}
	wanted := modelconfig.Wanted(e.Document.Config.GetVersionPolicy(), there)
	if len(wanted) == 0 {
		return nil, failure.New(failure.Invalid, "the version_policy of model %q picks no version", e.Name)
	}
	m := &model{versions: make(map[int64]*version, len(wanted))}
	for _, n := range wanted {
		v := newVersion(n, proto.CloneOf(e.Document.Config), r.telemetry.Logger)
		v.absent = !slices.Contains(there, n)
		m.versions[n] = v
	}
	return m, nil
}

// versionsThere are the versions in a model's folder. A model without version
// folders has the one version 1: backends that need files then say so.
func versionsThere(e Entry) ([]int64, error) {
	there, err := modelconfig.Versions(e.Directory)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, failure.Wrap(err, failure.Unavailable, "the folder of model %q can't be read", e.Name)
	}
	if len(there) == 0 {
		there = []int64{1}
	}
	return there, nil
}

// loadVersion completes, checks, loads and warms up one version, and sets its
// state.
func (r *Registry) loadVersion(ctx context.Context, e Entry, v *version) error {
	start := time.Now()
	backend := r.backends[modelconfig.BackendOf(v.config)]
	m, err := loadModel(ctx, backend, e, v)
	defer r.generation.Add(1)
	if err != nil {
		v.failed(failure.Message(err))
		if failure.KindOf(err) == failure.Cancelled {
			v.logger.Info("loading given up")
			return err
		}
		v.logger.Error("model not loaded", "error", err)
		return err
	}
	took := time.Since(start)
	v.cache = r.responses.open(v, v.logger)
	v.loaded(m, took)
	v.logger.Info("model loaded", "backend", backend.Name(), "seconds", took.Seconds())
	return nil
}

func loadModel(ctx context.Context, backend Backend, e Entry, v *version) (Model, error) {
	if v.absent {
		return nil, failure.New(failure.Invalid, "version %d of model %q is not in its folder", v.number, v.name)
	}
	spec := Spec{Config: v.config, Version: v.number, Directory: e.Directory}
	m, err := runBackend(ctx, backend, spec, e.Document)
	if err != nil {
		return nil, e.Document.Point(err)
	}
	if err := warmUp(ctx, m); err != nil {
		return nil, errors.Join(failure.Prefix("warm-up", err), closeModel(m))
	}
	return m, nil
}

// runBackend turns a panic of a backend into an error: one bad model must not
// take the others with it.
func runBackend(ctx context.Context, backend Backend, spec Spec, d *modelconfig.Document) (m Model, err error) {
	defer caught(&err, "the backend %q broke while it loaded", backend.Name())
	if c, ok := backend.(Completer); ok {
		if err := c.Complete(ctx, spec); err != nil {
			return nil, err
		}
	}
	if err := d.Derive(spec.Config).Check(); err != nil {
		return nil, err
	}
	if _, err := readGate(spec.Config); err != nil {
		return nil, err
	}
	return backend.Load(ctx, spec)
}

func warmUp(ctx context.Context, m Model) (err error) {
	defer caught(&err, "the model broke")
	if w, ok := m.(Warmer); ok {
		return w.WarmUp(ctx)
	}
	return nil
}

func closeModel(m Model) (err error) {
	defer caught(&err, "the model broke while it was closed")
	return m.Close()
}
