package modelserver

import (
	"context"
	"errors"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// Load makes a model serve what the repository has. The old versions serve until
// all new ones are up; when one fails the old ones stay. When nothing has changed
// since, there is nothing to do; what failed is tried again. Loads of one model
// wait for each other. A load that has begun goes on when its caller has gone.
func (r *Registry) Load(ctx context.Context, name string) error {
	e, err := r.repository.Find(name)
	if err != nil {
		return err
	}
	return r.loadByRequest(ctx, e)
}

func (r *Registry) loadByRequest(ctx context.Context, e Entry) error {
	if e.Err != nil {
		r.get(e.Name).remark(e.Err)
		return e.Err
	}
	if !r.ours(e) {
		return failure.New(failure.NotFound, "model %q has the backend %q, which is not served here", e.Name, modelconfig.BackendOf(e.Document.Config))
	}
	work, done := r.outlast(ctx, e.Name)
	defer done()
	return r.load(ctx, work, e)
}

// outlast is a context for work that a caller began and that must not be lost
// when the caller goes away: it ends with the registry.
func (r *Registry) outlast(ctx context.Context, name string) (work context.Context, done func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(r.open, func() { cancel(stopping(name)) })
	return work, func() { stop(); cancel(nil) }
}

// load loads under work; ctx bounds what is waited for beside it.
func (r *Registry) load(ctx, work context.Context, e Entry) (err error) {
	turn, err := r.turns.begin(ctx, e.Name)
	if err != nil {
		return err
	}
	defer turn.end()
	work, done := turn.work(work)
	defer done()
	defer func() { r.outcomes.add(e.Name, err) }()
	old := r.get(e.Name)
	serving := old.serving()
	fresh, err := r.prepare(&e, old)
	if err != nil {
		r.refuse(e.Name, serving, err)
		return err
	}
	if !serving {
		r.put(e.Name, fresh) // nothing to protect: show it loading
	}
	err = r.loadVersions(work, e, fresh)
	err = errors.Join(err, r.gate(work, old, fresh))
	if err != nil && serving {
		there, unread := versionsThere(e)
		next := old.partly(fresh, there)
		r.put(e.Name, next)
		r.replaced(ctx, old, next)
		return errors.Join(err, unread, retire(ctx, fresh.beside(next)))
	}
	if err == nil {
		fresh = fresh.promised()
	}
	r.put(e.Name, fresh)
	r.replaced(ctx, old, fresh)
	return err
}

func (r *Registry) loadVersions(ctx context.Context, e Entry, m *model) error {
	var failed error
	for _, v := range m.sorted() {
		if v.inService() {
			continue // kept: it is already what it should be
		}
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
	if err := retire(ctx, old.beside(fresh)); err != nil {
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
	r.get(name).remark(err)
	if !serving {
		r.put(name, &model{reason: failure.Message(err), extra: r.extra(r.get(name))})
	}
}

// Unload takes a model out of service; calls that run are finished first. When
// the context ends before they are, the last of them closes the model. A load of
// it that runs is given up.
func (r *Registry) Unload(ctx context.Context, name string) error {
	r.turns.giveUp(name, failure.New(failure.Conflict, "the load of model %s was given up: it was unloaded meanwhile", failure.Quote(name)))
	turn, err := r.turns.begin(ctx, name)
	if err != nil {
		return err
	}
	defer turn.end()
	m := r.get(name)
	if m == nil {
		return failure.New(failure.NotFound, "unknown model %s", failure.Quote(name))
	}
	err = retire(ctx, m.sorted())
	r.put(name, m.unloaded())
	for _, v := range m.versions {
		r.metrics.forget(v)
	}
	r.outcomes.forget(name)
	r.swaps.forget(name)
	r.telemetry.Logger.Info("model unloaded", "model", name)
	return err
}

// GiveUpLoading ends the loads that run by request, and those that are asked for
// from now on: the end of the service need not wait for what it would throw away.
func (r *Registry) GiveUpLoading() { r.shut() }

// Close takes every model out of service, for good: nothing is loaded after it.
// It may be called again.
func (r *Registry) Close(ctx context.Context) error {
	r.shut() // a load that runs under nobody's context ends
	if err := r.turns.close(ctx); err != nil {
		return err
	}
	var all []*version
	r.each(func(v *version) { all = append(all, v) })
	defer r.generation.Add(1)
	return retire(ctx, all)
}
