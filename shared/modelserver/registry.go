package modelserver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

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
	outcomes   *outcomes
	responses  *responseStore
	swaps      *swapMetrics
	generation atomic.Uint64

	policy LoadPolicy
	turns  *turns
	loads  chan struct{} // has room for the loads that run at once
	open   context.Context
	shut   context.CancelFunc // ends open: the registry's own lifetime

	mu      sync.RWMutex
	models  map[string]*model
	seen    map[string]tree // what each model's folder looked like when it was last acted on
	named   map[string]bool // the models that are promised; nil for all that the repository has
	settled bool            // the first load of everything is over
	served  bool            // everything that was promised has been ready at once
}

// NewRegistry makes an empty registry for the models whose backends are given.
func NewRegistry(repository *Repository, tel *telemetry.Telemetry, backends ...Backend) (*Registry, error) {
	r := &Registry{
		repository: repository,
		telemetry:  tel,
		backends:   make(map[string]Backend, len(backends)),
		models:     map[string]*model{},
		seen:       map[string]tree{},
		turns:      newTurns(),
	}
	r.SetLoadPolicy(LoadPolicy{})
	r.open, r.shut = context.WithCancel(context.Background())
	for _, b := range backends {
		r.backends[b.Name()] = b
	}
	var err error
	if r.responses, err = newResponseStore(DefaultResponseCacheBytes); err != nil {
		return nil, err
	}
	if r.swaps, err = newSwapMetrics(tel.Registry); err != nil {
		return nil, err
	}
	if r.outcomes, err = newOutcomes(tel.Registry); err != nil {
		return nil, err
	}
	r.metrics, err = newMetrics(r, tel.Registry)
	return r, err
}

// LimitResponseCache bounds the answers that are kept for all models together;
// 0 keeps none.
func (r *Registry) LimitResponseCache(bytes int64) { r.responses.bound(bytes) }

// ours tells whether a backend of this service claims the model. One whose
// configuration can't be read is claimed by nobody here: the gateway, which sees
// the whole repository, shows it.
func (r *Registry) ours(e Entry) bool {
	return e.Err == nil && r.backends[modelconfig.BackendOf(e.Document.Config)] != nil
}

// Has tells whether the registry knows a model of this name.
func (r *Registry) Has(name string) bool { return r.get(name) != nil }

// Generation changes whenever a model is loaded, unloaded or refused. What a
// Prober says is not counted.
func (r *Registry) Generation() uint64 { return r.generation.Load() }

// Promised tells whether a model of this name is one that was to be there from the
// start.
func (r *Registry) Promised(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.named == nil || r.named[name]
}

func (r *Registry) get(name string) *model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.models[name]
}

func (r *Registry) put(name string, m *model) {
	r.mu.Lock()
	r.models[name] = m
	r.mu.Unlock()
	r.generation.Add(1)
}

// names are those of all models, sorted.
func (r *Registry) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.models))
}

// each visits every version, models by name and versions oldest first.
func (r *Registry) each(visit func(v *version)) {
	for _, name := range r.names() {
		for _, v := range r.get(name).sorted() {
			visit(v)
		}
	}
}
