package modelserver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/telemetry"
)

// Registry holds the models that this service has loaded or tried to load.
// Safe for concurrent use.
type Registry struct {
	repository *Repository
	backends   map[string]Backend
	telemetry  *telemetry.Telemetry
	metrics    *metrics

	loading sync.Mutex // one change of the set of models at a time

	mu      sync.RWMutex
	models  map[string]*model
	settled bool // the first load of everything is over
	served  bool // everything that was promised has been ready at once
}

// model is a name and its versions. A model whose configuration can't be used
// has a reason and no versions. The map is replaced, never changed.
type model struct {
	versions map[int64]*version
	reason   string
}

// NewRegistry makes an empty registry for the models whose backends are given.
func NewRegistry(repository *Repository, tel *telemetry.Telemetry, backends ...Backend) (*Registry, error) {
	r := &Registry{repository: repository, telemetry: tel, backends: map[string]Backend{}, models: map[string]*model{}}
	for _, b := range backends {
		r.backends[b.Name()] = b
	}
	var err error
	r.metrics, err = newMetrics(r, tel.Registry)
	return r, err
}

// LoadAll loads every model of the repository that has one of our backends.
// Models that can't be loaded are kept with the reason; LoadAll fails only when
// the repository can't be read or the context ends.
func (r *Registry) LoadAll(ctx context.Context) error {
	entries, err := r.repository.Scan()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.ours(e) {
			// The reason is kept with the model and has been logged.
			_ = r.load(ctx, e)
		}
	}
	r.mu.Lock()
	r.settled = true
	r.mu.Unlock()
	return nil
}

// ours tells whether a backend of this service claims the model. One whose
// configuration can't be read is claimed by nobody here: the gateway, which sees
// the whole repository, shows it.
func (r *Registry) ours(e Entry) bool {
	return e.Err == nil && r.backends[modelconfig.BackendOf(e.Document.Config)] != nil
}

// Load loads a model by name, or loads it again. The old versions serve until
// all new ones are up; when one fails the old ones stay.
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
	return r.load(ctx, e)
}

func (r *Registry) load(ctx context.Context, e Entry) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	fresh, err := r.prepare(e)
	if err != nil {
		r.refuse(e.Name, err)
		return err
	}
	old := r.get(e.Name)
	if old == nil || !old.serves() {
		r.put(e.Name, fresh) // nothing to protect: show it loading
	}
	var failed error
	for _, v := range fresh.sorted() {
		if err := r.loadVersion(ctx, e, v); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil && old != nil && old.serves() {
		return errors.Join(failed, fresh.retire(ctx)) // the old versions go on
	}
	r.put(e.Name, fresh)
	if old != nil && old != fresh {
		return errors.Join(failed, old.retire(ctx))
	}
	return failed
}

// prepare makes the versions to load, each with its own copy of the
// configuration.
func (r *Registry) prepare(e Entry) (*model, error) {
	numbers, err := versionsToLoad(e)
	if err != nil {
		return nil, err
	}
	m := &model{versions: map[int64]*version{}}
	for _, n := range numbers {
		m.versions[n] = newVersion(n, proto.CloneOf(e.Document.Config))
	}
	return m, nil
}

func (r *Registry) refuse(name string, err error) {
	r.telemetry.Logger.Error("model refused", "model", name, "error", err)
	if old := r.get(name); old == nil || !old.serves() {
		r.put(name, &model{reason: failure.Message(err)})
	}
}

// Unload takes a model out of service; calls that run are finished first.
func (r *Registry) Unload(ctx context.Context, name string) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	m := r.get(name)
	if m == nil {
		return failure.New(failure.NotFound, "unknown model %q", name)
	}
	err := m.retire(ctx)
	for n := range m.versions {
		r.metrics.forget(name, n)
	}
	return err
}

// Close takes every model out of service.
func (r *Registry) Close(ctx context.Context) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	var failed error
	for _, m := range r.snapshot() {
		failed = errors.Join(failed, m.retire(ctx))
	}
	return failed
}

func (r *Registry) get(name string) *model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.models[name]
}

func (r *Registry) put(name string, m *model) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.models[name] = m
}

func (r *Registry) snapshot() map[string]*model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return maps.Clone(r.models)
}

// each visits every version, models by name and versions oldest first.
func (r *Registry) each(visit func(name string, v *version)) {
	models := r.snapshot()
	for _, name := range slices.Sorted(maps.Keys(models)) {
		for _, v := range models[name].sorted() {
			visit(name, v)
		}
	}
}

func (m *model) sorted() []*version {
	numbers := slices.Sorted(maps.Keys(m.versions))
	versions := make([]*version, len(numbers))
	for i, n := range numbers {
		versions[i] = m.versions[n]
	}
	return versions
}

func (m *model) serves() bool {
	for _, v := range m.versions {
		if state, _ := v.status(); state == Ready {
			return true
		}
	}
	return false
}

func (m *model) retire(ctx context.Context) error {
	var failed error
	for _, v := range m.versions {
		failed = errors.Join(failed, v.retire(ctx))
	}
	return failed
}
