package upstream

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
)

// welcome brings a replica that joined to the set of models that its peers serve:
// a process that starts loads all that the repository has, so what was unloaded at
// all of its peers is unloaded there too. What the peers show is followed, not
// what this gateway remembers, for there may be several gateways.
func welcome(ctx context.Context, reports []report) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	gone := unloadedAtAll(reports)
	for _, r := range reports {
		if r.joined {
			r.replica.unload(ctx, gone)
		}
	}
}

// unloadedAtAll are the models that were unloaded, in every version, at each
// replica that was there before and knows them.
func unloadedAtAll(reports []report) map[string]bool {
	gone := map[string]bool{}
	for _, r := range reports {
		if r.joined || r.err != nil {
			continue
		}
		for _, m := range r.index {
			before, known := gone[m.GetName()]
			gone[m.GetName()] = (before || !known) && m.GetReason() == modelserver.Unloaded
		}
	}
	return gone
}

// unload unloads those models that are ready here. What fails is tried again in
// the next round.
func (r *replica) unload(ctx context.Context, gone map[string]bool) {
	for _, m := range r.index {
		if !gone[m.GetName()] || m.GetState() != string(modelserver.Ready) {
			continue
		}
		if _, err := r.client.RepositoryModelUnload(ctx, &inference.RepositoryModelUnloadRequest{ModelName: m.GetName()}); err != nil {
			r.away = true // it has not joined yet
			continue
		}
		m.State, m.Reason = string(modelserver.Unavailable), modelserver.Unloaded
	}
}
