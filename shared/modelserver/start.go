package modelserver

import (
	"context"
	"sync"

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
	return r.loadEach(ctx, entries)
}

// LoadNamed is LoadAll for the named models and, where one is an ensemble, for its
// steps. The others are known, and not loaded. A name that the repository does not
// have is a model that could not be loaded.
func (r *Registry) LoadNamed(ctx context.Context, names []string) error {
	entries, err := r.repository.Scan()
	if err != nil {
		return err
	}
	byName := make(map[string]Entry, len(entries))
	for _, e := range entries {
		byName[e.Name] = e
	}
	wanted := withSteps(names, byName)
	r.mu.Lock()
	r.named = wanted
	r.mu.Unlock()
	var load []Entry
	for _, e := range entries {
		switch {
		case wanted[e.Name]:
			load = append(load, e)
		case r.ours(e) && !r.Has(e.Name):
			r.put(e.Name, &model{reason: Unloaded, extra: true})
		}
	}
	for name := range wanted {
		if _, there := byName[name]; !there {
			r.refuse(name, false, missing(name).Err)
		}
	}
	return r.loadEach(ctx, load)
}

// withSteps are the names and what their ensembles need.
func withSteps(names []string, entries map[string]Entry) map[string]bool {
	wanted := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if wanted[name] {
			return
		}
		wanted[name] = true
		if e := entries[name]; e.Document != nil {
			for _, step := range modelconfig.Steps(e.Document.Config) {
				add(step)
			}
		}
	}
	for _, name := range names {
		add(name)
	}
	return wanted
}

// loadEach is the first load: as many models at once as may be.
func (r *Registry) loadEach(ctx context.Context, entries []Entry) error {
	next := make(chan Entry)
	var loading sync.WaitGroup
	for range min(r.policy.Threads, len(entries)) {
		loading.Go(func() {
			for e := range next {
				if ctx.Err() == nil {
					// The reason of a failure is kept with the model and has been logged.
					_ = r.load(ctx, ctx, e)
				}
			}
		})
	}
	for _, e := range entries {
		if e.Err != nil {
			// The gateway's index shows why; four services need not all say it.
			r.telemetry.Logger.Debug("model passed over", "model", e.Name, "error", e.Err)
		}
		if r.ours(e) {
			next <- e
		}
	}
	close(next)
	loading.Wait()
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.settled = true
	r.mu.Unlock()
	return nil
}

// Broken is why one of the models could not be loaded; nil when all could. What a
// Prober says is not asked.
func (r *Registry) Broken() error {
	for _, name := range r.names() {
		m := r.get(name)
		if len(m.sorted()) == 0 && m.reason != Unloaded {
			return failure.New(failure.Unavailable, "model %q can't be loaded: %s", name, m.reason)
		}
		for _, v := range m.sorted() {
			if reason, broken := v.broken(); broken {
				return failure.New(failure.Unavailable, "model %q version %d can't be loaded: %s", name, v.number, reason)
			}
		}
	}
	return nil
}

// Steps are the models that an ensemble of the repository calls; nil for another
// model, or for one that can't be read.
func (r *Repository) Steps(name string) []string {
	e, err := r.Find(name)
	if err != nil || e.Err != nil || modelconfig.BackendOf(e.Document.Config) != modelconfig.EnsemblePlatform {
		return nil
	}
	return modelconfig.Steps(e.Document.Config)
}
