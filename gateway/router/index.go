package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
)

// RepositoryIndex lists every model of the repository and of the upstreams: one
// that nobody serves is shown with the reason, never left out.
func (r *Router) RepositoryIndex(_ context.Context, req *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	if req.GetRepositoryName() != "" {
		return nil, failure.New(failure.Unsupported, "a repository can't be named: there is one")
	}
	index, err := r.index()
	if err != nil {
		return nil, err
	}
	if req.GetReady() {
		index = slices.DeleteFunc(index, func(m *inference.RepositoryIndexResponse_ModelIndex) bool {
			return m.GetState() != string(modelserver.Ready)
		})
	}
	return &inference.RepositoryIndexResponse{Models: index}, nil
}

func (r *Router) index() ([]*inference.RepositoryIndexResponse_ModelIndex, error) {
	catalog := r.fleet.Catalog()
	index := r.registry.Index(false)
	for _, m := range catalog.Index() {
		if !r.mine(m.GetName()) { // by that name the gateway's own is meant
			index = append(index, m)
		}
	}
	entries, err := r.listing.all()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !r.mine(e.Name) && !catalog.Has(e.Name) {
			index = append(index, &inference.RepositoryIndexResponse_ModelIndex{Name: e.Name, State: string(modelserver.Unavailable), Reason: r.unclaimed(e)})
		}
	}
	slices.SortStableFunc(index, func(a, b *inference.RepositoryIndexResponse_ModelIndex) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return index, nil
}

// unclaimed says why nobody serves a model that is in the repository.
func (r *Router) unclaimed(e modelserver.Entry) string {
	if e.Err != nil {
		return failure.Message(e.Err)
	}
	backend := modelconfig.BackendOf(e.Document.Config)
	if backend == modelconfig.EnsemblePlatform {
		return "it has not been loaded" // the gateway's own, still to come
	}
	if err := r.fleet.Ready(); err != nil {
		return failure.Message(err)
	}
	return fmt.Sprintf("no service has the backend %q", backend)
}
