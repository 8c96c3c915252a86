package upstream

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
)

// welcome brings a replica that joined to the set of models that its peers serve:
// what was unloaded at all of its peers is unloaded there too, and what one of them
// has loaded since it started is loaded there. What the peers show is followed, not
// what this gateway remembers, for there may be several gateways. A model comes as
// the repository has it: what a load request brought to the peers is not known to
// those who come later.
func welcome(ctx context.Context, reports []report) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	gone, there := unloadedAtAll(reports), readyAtOne(reports)
	for _, r := range reports {
		if r.joined {
			r.replica.unload(ctx, gone)
			r.replica.load(ctx, there)
		}
	}
}

// unloadedAtAll are the models that were unloaded, in every version, at each
// replica that was there before and knows them.
func unloadedAtAll(reports []report) map[string]bool {
	gone := map[string]bool{}
	for m := range told(reports) {
		before, known := gone[m.GetName()]
		gone[m.GetName()] = (before || !known) && m.GetReason() == modelserver.Unloaded
	}
	return gone
}

// readyAtOne are the models that a replica that was there before serves.
func readyAtOne(reports []report) map[string]bool {
	there := map[string]bool{}
	for m := range told(reports) {
		if m.GetState() == string(modelserver.Ready) {
			there[m.GetName()] = true
		}
	}
	return there
}

// told is what the replicas say that were there before.
func told(reports []report) iter.Seq[*inference.RepositoryIndexResponse_ModelIndex] {
	return func(yield func(*inference.RepositoryIndexResponse_ModelIndex) bool) {
		for _, r := range reports {
			if r.joined || r.err != nil {
				continue
			}
			for _, m := range r.index {
				if !yield(m) {
					return
				}
			}
		}
	}
}

// unload unloads those models that are ready here. What fails is tried again in
// the next round.
func (r *replica) unload(ctx context.Context, gone map[string]bool) {
	for _, m := range r.index {
		if !gone[m.GetName()] || m.GetState() != string(modelserver.Ready) {
			continue
		}
		if _, err := r.client.RepositoryModelUnload(ctx, &inference.RepositoryModelUnloadRequest{ModelName: m.GetName()}); err != nil {
			r.away.Store(true) // it has not joined yet
			continue
		}
		m.State, m.Reason = string(modelserver.Unavailable), modelserver.Unloaded
	}
}

// load loads those models that are not loaded here, side by side. A load may take
// longer than a round: it goes on without us, and the next round sees it loading.
func (r *replica) load(ctx context.Context, there map[string]bool) {
	idle := map[string]bool{}
	for _, m := range r.index {
		before, known := idle[m.GetName()]
		idle[m.GetName()] = (before || !known) && m.GetReason() == modelserver.Unloaded
	}
	var loading sync.WaitGroup
	var failed atomic.Bool
	for name := range idle {
		if !idle[name] || !there[name] {
			continue
		}
		loading.Go(func() {
			if _, err := r.client.RepositoryModelLoad(ctx, &inference.RepositoryModelLoadRequest{ModelName: name}); err != nil {
				failed.Store(true)
			}
		})
	}
	loading.Wait()
	if failed.Load() {
		r.away.Store(true) // it has not joined yet
	}
}
