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

// isEnsemble tells whether the repository has an ensemble of this name, which the
// gateway can load though it does not know it yet. Whoever loads a model may have
// written it just now, so the disk is read.
func (r *Router) isEnsemble(name string) bool {
	e, err := r.repository.Find(name)
	return err == nil && e.Err == nil && modelconfig.BackendOf(e.Document.Config) == modelconfig.EnsemblePlatform
}

// RepositoryModelLoad loads a model at every replica that can serve it.
func (r *Router) RepositoryModelLoad(ctx context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	if r.mine(req.GetModelName()) || r.isEnsemble(req.GetModelName()) {
		return r.service.RepositoryModelLoad(ctx, req)
	}
	err := r.fleet.Each(req.GetModelName(), r.fleet.Catalog().Has(req.GetModelName()), func(c client) error {
		_, err := c.RepositoryModelLoad(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &inference.RepositoryModelLoadResponse{}, nil
}

// RepositoryModelUnload takes a model out of service at every replica.
func (r *Router) RepositoryModelUnload(ctx context.Context, req *inference.RepositoryModelUnloadRequest) (*inference.RepositoryModelUnloadResponse, error) {
	if r.mine(req.GetModelName()) {
		return r.service.RepositoryModelUnload(ctx, req)
	}
	if err := r.unknown(req.GetModelName()); err != nil {
		return nil, err
	}
	err := r.fleet.Each(req.GetModelName(), true, func(c client) error {
		_, err := c.RepositoryModelUnload(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &inference.RepositoryModelUnloadResponse{}, nil
}
