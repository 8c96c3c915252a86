// Package gate lets requests to models: as many at a time as the model's limit
// allows; some wait, in a short queue, by urgency and by their tenants' shares; all
// others are refused at once, with a computed hint when to come back. What it knows
// of a model is what it measured itself.
package gate

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/failure"
)

const (
	// manyGates is from how many models on those that nobody asked for lately are
	// forgotten.
	manyGates = 256
	// idleFor is how long nobody has asked for such a model.
	idleFor = 10 * time.Minute
)

// Gates are those of all models. Safe for concurrent use.
type Gates struct {
	cfg     Config
	tenants *tenants
	waited  *prometheus.HistogramVec

	mu    sync.RWMutex // guards what follows
	gates map[string]*gate
}

// New makes the gates, and registers their metrics.
func New(cfg Config, registry prometheus.Registerer) (*Gates, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t, err := newTenants(cfg.Weights)
	if err != nil {
		return nil, err
	}
	g := &Gates{cfg: cfg, tenants: t, gates: map[string]*gate{}, waited: newWaited()}
	for _, c := range []prometheus.Collector{g.waited, newCollector(g)} {
		if err := registry.Register(c); err != nil {
			return nil, failure.Wrap(err, failure.Internal, "register the metrics of the admission to models")
		}
	}
	return g, nil
}

// Enter lets a request to a model, when it is its turn. The pass must be given back.
// Busy says that it would have to wait for too long, with a hint when to come back;
// Deadline and Cancelled are the caller's.
func (g *Gates) Enter(ctx context.Context, model string) (*Pass, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	at := g.take(model)
	p, err := at.enter(ctx, g.callerOf(ctx))
	if err != nil {
		g.untake(at)
		return nil, err
	}
	return p, nil
}

// Check tells whether a request to a model would be refused now, before anything of
// it is read. It is nil for a model of which nothing is known.
func (g *Gates) Check(ctx context.Context, model string) error {
	g.mu.RLock()
	at := g.gates[model]
	g.mu.RUnlock()
	if at == nil {
		return nil
	}
	return at.check(ctx, g.callerOf(ctx))
}

// take is a model's gate, which stays until untake.
func (g *Gates) take(model string) *gate {
	g.mu.RLock()
	at := g.gates[model]
	if at != nil {
		at.users.Add(1)
	}
	g.mu.RUnlock()
	if at != nil {
		return at
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at = g.gates[model]; at == nil {
		g.forget()
		at = newGate(model, g)
		g.gates[model] = at
	}
	at.users.Add(1)
	return at
}

// untake gives a gate back. A caller may name models that do not exist: what was
// never seen to serve is forgotten with its last request.
func (g *Gates) untake(at *gate) {
	if at.users.Add(-1) > 0 || at.known.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users.Load() == 0 && !at.known.Load() && g.gates[at.model] == at {
		delete(g.gates, at.model)
	}
}

// forget drops models that nobody has asked for lately. Call it with the lock.
func (g *Gates) forget() {
	if len(g.gates) < manyGates {
		return
	}
	for name, at := range g.gates {
		if at.users.Load() == 0 && at.idle(idleFor) {
			delete(g.gates, name)
			g.waited.DeleteLabelValues(name)
		}
	}
}
