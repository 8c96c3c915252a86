package modelserver

import (
	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Index lists every model and version with its state.
func (r *Registry) Index(onlyReady bool) []*inference.RepositoryIndexResponse_ModelIndex {
	var index []*inference.RepositoryIndexResponse_ModelIndex
	for _, name := range r.names() {
		for _, entry := range r.indexOf(name) {
			if entry.GetState() == string(Ready) || !onlyReady {
				index = append(index, entry)
			}
		}
	}
	return index
}

// indexOf asks again when the model was replaced meanwhile: a reload must not
// be seen as a version that is unloading.
func (r *Registry) indexOf(name string) []*inference.RepositoryIndexResponse_ModelIndex {
	for {
		m := r.get(name)
		index := m.index(name)
		if r.get(name) == m {
			return index
		}
	}
}

func (m *model) index(name string) []*inference.RepositoryIndexResponse_ModelIndex {
	if len(m.versions) == 0 {
		return []*inference.RepositoryIndexResponse_ModelIndex{{Name: name, State: string(Unavailable), Reason: m.reason}}
	}
	index := make([]*inference.RepositoryIndexResponse_ModelIndex, 0, len(m.versions))
	for _, v := range m.sorted() {
		state, reason := v.status()
		index = append(index, &inference.RepositoryIndexResponse_ModelIndex{Name: name, Version: v.String(), State: string(state), Reason: reason})
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
// it can. What was unloaded on purpose is not promised, nor is a new version
// that failed to load while others serve, nor a model that was added since and has
// not served yet.
func (r *Registry) Ready() error {
	if !r.Settled() {
		return failure.New(failure.Unavailable, "models are loading")
	}
	for _, name := range r.names() {
		if err := r.look(name, func(m *model) error { return m.ready(name) }); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) ready(name string) error {
	if m.extra {
		return nil
	}
	if len(m.versions) == 0 && m.reason != Unloaded {
		return failure.New(failure.Unavailable, "model %q is not ready: %s", name, m.reason)
	}
	for _, v := range m.sorted() {
		state, reason := v.status()
		if state != Ready && reason != Unloaded && !v.spare {
			return v.notReady(state, reason)
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
