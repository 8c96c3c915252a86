package modelserver

import (
	"context"
	"errors"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// LoadAll loads every model of the repository that has one of our backends.
// Models that can't be loaded are kept with the reason; LoadAll fails only when
// the repository can't be read or the context ends.
func (r *Registry) LoadAll(ctx context.Context) error {
	entries, err := r.repository.Scan()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := failure.OfContext(ctx); err != nil {
			return err
		}
		if e.Err != nil {
			// The gateway's index shows why; four services need not all say it.
			r.telemetry.Logger.Debug("model passed over", "model", e.Name, "error", e.Err)
		}
		if r.ours(e) {
			// The reason is kept with the model and has been logged.
			_ = r.load(ctx, ctx, e)
		}
	}
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.settled = true
	r.mu.Unlock()
	return nil
}

// Load loads a model by name, or loads it again. The old versions serve until
// all new ones are up; when one fails the old ones stay. Loads wait for each
// other. A load that has begun goes on when its caller has gone.
func (r *Registry) Load(ctx context.Context, name string) error {
	e, err := r.repository.Find(name)
	if err != nil {
		return err
	}
	if e.Err != nil {
		return e.Err
	}
	if !r.ours(e) {
		return failure.New(failure.NotFound, "model %q has the backend %q, which is not served here", name, modelconfig.BackendOf(e.Document.Config))
	}
	work, done := r.outlast(ctx)
	defer done()
	return r.load(ctx, work, e)
}

// outlast is a context for work that a caller began and that must not be lost
// when the caller goes away: it ends with the registry.
func (r *Registry) outlast(ctx context.Context) (work context.Context, done func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.open, cancel)
	return work, func() { stop(); cancel() }
}

// begin waits for the turn to change the set of models; end gives it back.
func (r *Registry) begin(ctx context.Context) (end func(), err error) {
	select {
	case r.turn <- struct{}{}:
	default:
		select {
		case r.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, failure.OfContext(ctx)
		}
	}
	return func() { <-r.turn }, nil
}

// load loads under work; ctx bounds what is waited for beside it.
func (r *Registry) load(ctx, work context.Context, e Entry) error {
	end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if r.closed {
		return failure.New(failure.Unavailable, "model %q can't be loaded: the server is stopping", e.Name)
	}
	old := r.get(e.Name)
	serving := old.serving()
	fresh, err := r.prepare(e)
	if err != nil {
		r.refuse(e.Name, serving, err)
		return err
	}
	if !serving {
		r.put(e.Name, fresh) // nothing to protect: show it loading
	}
	if err = r.loadVersions(work, e, fresh); err == nil {
		err = r.gate(work, old, fresh)
	}
	if err != nil && serving {
		r.put(e.Name, old.keeping(fresh))
		return errors.Join(err, retire(ctx, fresh.sorted()))
	}
	r.put(e.Name, fresh)
	r.replaced(ctx, old, fresh)
	return err
}

func (r *Registry) loadVersions(ctx context.Context, e Entry, m *model) error {
	var failed error
	for _, v := range m.sorted() {
		if err := r.loadVersion(ctx, e, v); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// replaced gives back what the new versions took the place of. That an old call
// goes on for long is no failure of the load.
func (r *Registry) replaced(ctx context.Context, old, fresh *model) {
	if old == nil {
		return
	}
	if err := retire(ctx, old.sorted()); err != nil {
		r.telemetry.Logger.Warn("an old version is not closed", "error", err)
	}
	for n, v := range old.versions {
		if fresh.versions[n] == nil {
			r.metrics.forget(v)
		}
	}
}

func (r *Registry) refuse(name string, serving bool, err error) {
	r.telemetry.Logger.Error("model refused", "model", name, "error", err)
	if !serving {
		r.put(name, &model{reason: failure.Message(err)})
	}
}

// Unload takes a model out of service; calls that run are finished first. When
// the context ends before they are, the last of them closes the model.
func (r *Registry) Unload(ctx context.Context, name string) error {
	end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	m := r.get(name)
	if m == nil {
		return failure.New(failure.NotFound, "unknown model %s", failure.Quote(name))
	}
	err = retire(ctx, m.sorted())
	r.put(name, m.unloaded())
	for _, v := range m.versions {
		r.metrics.forget(v)
	}
	r.telemetry.Logger.Info("model unloaded", "model", name)
	return err
}

// Close takes every model out of service, for good: nothing is loaded after it.
// It may be called again.
func (r *Registry) Close(ctx context.Context) error {
	r.shut() // a load that runs under nobody's context ends
	end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	r.closed = true
	var all []*version
	r.each(func(v *version) { all = append(all, v) })
	defer r.generation.Add(1)
	return retire(ctx, all)
}
