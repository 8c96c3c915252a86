package router

import (
	"sync"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// promises are the models that must serve for the whole to be ready: at first all
// that are wanted, and, once these have been ready together, those that have
// served. So a model that comes later takes nobody out while it loads or when it
// can't be loaded.
type promises struct {
	mu     sync.Mutex
	ready  bool
	served map[string]bool
}

// kept says which promise is broken, if one is.
func (p *promises) kept(index []*inference.RepositoryIndexResponse_ModelIndex, wanted func(name string) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	serves, left := map[string]bool{}, map[string]bool{}
	for _, m := range index {
		serves[m.GetName()] = serves[m.GetName()] || m.GetState() == string(modelserver.Ready)
		left[m.GetName()] = left[m.GetName()] || m.GetReason() == modelserver.Unloaded
	}
	if p.served == nil {
		p.served = map[string]bool{}
	}
	var broken error
	for name := range serves {
		switch {
		case serves[name]:
			p.served[name] = true
		case left[name]: // on purpose
			delete(p.served, name)
		case p.served[name] || (!p.ready && wanted(name)):
			broken = failure.New(failure.Unavailable, "model %q is not ready", name)
		}
	}
	p.ready = p.ready || broken == nil
	return broken
}
