package modelserver

import (
	"maps"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// find picks a version: the one asked for, or the newest that is ready.
func (r *Registry) find(name, number string) (*version, error) {
	m := r.get(name)
	if m == nil {
		return nil, failure.New(failure.NotFound, "unknown model %q", Shorten(name))
	}
	if number != "" {
		n, ok := modelconfig.ParseVersion(number)
		if !ok {
			return nil, failure.New(failure.Invalid, "version %q of model %q is not a whole number above 0", Shorten(number), name)
		}
		if v := m.versions[n]; v != nil {
			return v, nil
		}
		return nil, failure.New(failure.NotFound, "unknown version %d of model %q", n, name)
	}
	versions := m.sorted()
	for _, v := range slices.Backward(versions) {
		if state, _ := v.status(); state == Ready {
			return v, nil
		}
	}
	if len(versions) > 0 {
		_, reason := versions[len(versions)-1].status()
		return nil, notReady(name, reason)
	}
	return nil, notReady(name, m.reason)
}

func notReady(name, reason string) error {
	if reason == "" {
		reason = "it is loading"
	}
	return failure.New(failure.Unavailable, "model %q is not ready: %s", name, reason)
}

// Shorten keeps a hostile name from filling a message.
func Shorten(s string) string {
	const most = 128
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Index lists every model and version with its state.
func (r *Registry) Index(onlyReady bool) []*inference.RepositoryIndexResponse_ModelIndex {
	var index []*inference.RepositoryIndexResponse_ModelIndex
	models := r.snapshot()
	for _, name := range slices.Sorted(maps.Keys(models)) {
		m := models[name]
		if len(m.versions) == 0 && !onlyReady {
			index = append(index, &inference.RepositoryIndexResponse_ModelIndex{Name: name, State: string(Unavailable), Reason: m.reason})
		}
		for _, v := range m.sorted() {
			state, reason := v.status()
			if state == Ready || !onlyReady {
				index = append(index, &inference.RepositoryIndexResponse_ModelIndex{Name: name, Version: v.String(), State: string(state), Reason: reason})
			}
		}
	}
	return index
}

// Settled tells whether the first load of everything is over, well or badly.
func (r *Registry) Settled() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.settled
}

// Ready says why not everything that was promised can be served now; nil when
// it can. What was unloaded on purpose is not promised.
func (r *Registry) Ready() error {
	if !r.Settled() {
		return failure.New(failure.Unavailable, "models are loading")
	}
	for _, m := range r.Index(false) {
		if m.GetState() != string(Ready) && m.GetReason() != Unloaded {
			return failure.New(failure.Unavailable, "model %q is %s: %s", m.GetName(), m.GetState(), m.GetReason())
		}
	}
	return nil
}

// EverReady is Ready until it has been nil once, and nil from then on: what a
// load balancer should ask, so that a reload, or a step that is away for a
// while, does not take the whole service out.
func (r *Registry) EverReady() error {
	r.mu.RLock()
	served := r.served
	r.mu.RUnlock()
	if served {
		return nil
	}
	err := r.Ready()
	if err == nil {
		r.mu.Lock()
		r.served = true
		r.mu.Unlock()
	}
	return err
}

// Has tells whether the registry knows a model of this name.
func (r *Registry) Has(name string) bool { return r.get(name) != nil }
