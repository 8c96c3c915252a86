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
// configuration. A version that serves and of which nothing has changed stays the
// one that it is.
func (r *Registry) prepare(e *Entry, old *model) (*model, error) {
	if err := r.sight(e); err != nil {
		return nil, err
	}
	there, err := versionsThere(*e)
	if err != nil {
		return nil, err
	}
	cfg := e.Document.Config
	wanted := modelconfig.Wanted(cfg.GetVersionPolicy(), there)
	if len(wanted) == 0 {
		return nil, failure.New(failure.Invalid, "the version_policy of model %q picks no version", e.Name)
	}
	labels, err := labelsOf(cfg, wanted)
	if err != nil {
		return nil, err
	}
	m := &model{versions: make(map[int64]*version, len(wanted)), config: cfg, labels: labels, extra: r.extra(old)}
	for _, n := range wanted {
		fresh := newVersion(n, proto.CloneOf(cfg), r.telemetry.Logger)
		fresh.absent = !slices.Contains(there, n)
		fresh.origin = origin{config: lasting(cfg), directory: e.Directory, files: e.files.of(n), scratch: e.scratch}
		if v := old.version(n); !e.forced && v != nil && v.inService() && v.origin.same(fresh.origin) {
			fresh = v
		} else {
			e.scratch.hold()
		}
		m.versions[n] = fresh
	}
	return m, nil
}

// sight notes what the model's folder looks like, so that a change is known for
// one.
func (r *Registry) sight(e *Entry) (err error) {
	if e.files == nil {
		if e.files, err = survey(e.Directory); err != nil {
			return err
		}
	}
	r.mu.Lock()
	r.seen[e.Name] = e.files
	r.mu.Unlock()
	return nil
}

// extra tells whether the model that takes the place of old is one that nobody was
// promised: it came, or comes back, while everything served.
func (r *Registry) extra(old *model) bool {
	if old == nil {
		return r.Settled()
	}
	return old.extra
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
	m, err := r.try(ctx, backend, e, v)
	defer r.generation.Add(1)
	if err != nil {
		if why := context.Cause(ctx); failure.KindOf(why) == failure.Conflict || failure.KindOf(why) == failure.Unavailable {
			err = why // a later operation took over, or the end
		}
		v.failed(failure.Message(err))
		v.origin.scratch.release()
		if ctx.Err() != nil || failure.KindOf(err) == failure.Cancelled {
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

// try loads a version, again and again if it is to be.
func (r *Registry) try(ctx context.Context, backend Backend, e Entry, v *version) (Model, error) {
	leave, err := r.room(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for left := r.policy.Retries; ; left-- {
		tried, done := r.policy.bounded(ctx)
		m, err := loadModel(tried, backend, e, v)
		err = done(err)
		if err == nil || left <= 0 || v.absent || !pause(ctx, retryPause) {
			return m, err
		}
		v.logger.Warn("model not loaded, trying again", "error", err)
		v.config = proto.CloneOf(e.Document.Config)
	}
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
	if err := unchanged(e, v); err != nil {
		return nil, errors.Join(err, closeModel(m))
	}
	return m, nil
}

// unchanged fails when files of the version changed while it was loaded: nobody
// knows what was read.
func unchanged(e Entry, v *version) error {
	now, err := survey(e.Directory)
	if err != nil {
		return err
	}
	if file := v.origin.files.changed(now); file != "" {
		return failure.New(failure.Conflict, "the files of model %q changed while it was loaded: %s", e.Name, file)
	}
	return nil
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
