package router

import (
	"context"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
)

// RepositoryModelLoad loads a model at every replica that can serve it; an
// ensemble here, after those of its steps that nobody serves.
func (r *Router) RepositoryModelLoad(ctx context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	if err := r.load(ctx, req, nil); err != nil {
		return nil, err
	}
	r.fleet.Refresh(ctx)
	return &inference.RepositoryModelLoadResponse{}, nil
}

// load loads a model; way is the ensembles that it is a step of.
func (r *Router) load(ctx context.Context, req *inference.RepositoryModelLoadRequest, way []string) error {
	name := req.GetModelName()
	cfg, err := r.sentConfig(req)
	if err != nil {
		return err
	}
	if !r.here(name, cfg) {
		return r.fleet.EachOf(name, modelconfig.BackendOf(cfg), r.fleet.Catalog().Has(name), func(c client) error {
			_, err := c.RepositoryModelLoad(ctx, req)
			return err
		})
	}
	if err := r.service.Controllable(); err != nil {
		return err
	}
	if err := r.loadSteps(ctx, r.steps(name, cfg), append(way, name)); err != nil {
		return err
	}
	_, err = r.service.RepositoryModelLoad(ctx, req)
	return err
}

// sentConfig is the configuration that comes with the request, or nil.
func (r *Router) sentConfig(req *inference.RepositoryModelLoadRequest) (*inference.ModelConfig, error) {
	text := req.GetParameters()["config"].GetStringParam()
	if text == "" {
		return nil, nil
	}
	return modelconfig.ParseJSON("the sent config of "+req.GetModelName(), []byte(text))
}

// here tells whether a model is the gateway's own: an ensemble, which it can load
// though it does not know it yet. Whoever loads a model may have written it just
// now, so the disk is read.
func (r *Router) here(name string, sent *inference.ModelConfig) bool {
	if sent != nil {
		return modelconfig.BackendOf(sent) == modelconfig.EnsemblePlatform
	}
	return r.mine(name) || r.repository.Steps(name) != nil
}

// steps are the models that an ensemble calls.
func (r *Router) steps(name string, sent *inference.ModelConfig) []string {
	if sent == nil {
		return r.repository.Steps(name)
	}
	return modelconfig.Steps(sent)
}

// loadSteps loads those steps that are not served. One that can't be loaded fails
// the ensemble. A circle is left for the check of the ensemble, which names it.
func (r *Router) loadSteps(ctx context.Context, steps, way []string) error {
	for _, name := range steps {
		if slices.Contains(way, name) {
			continue
		}
		if _, err := r.Config(name, ""); err == nil {
			continue
		}
		if err := r.load(ctx, &inference.RepositoryModelLoadRequest{ModelName: name}, way); err != nil {
			return failure.Prefix("step "+name, err)
		}
	}
	return nil
}

// RepositoryModelUnload takes a model out of service at every replica. With
// unload_dependents an ensemble takes those of its steps with it that no other
// ensemble in service calls.
func (r *Router) RepositoryModelUnload(ctx context.Context, req *inference.RepositoryModelUnloadRequest) (*inference.RepositoryModelUnloadResponse, error) {
	dependents, err := modelserver.UnloadDependents(req)
	if err != nil {
		return nil, err
	}
	if err := r.unload(ctx, req.GetModelName(), dependents); err != nil {
		return nil, err
	}
	r.fleet.Refresh(ctx)
	return &inference.RepositoryModelUnloadResponse{}, nil
}

func (r *Router) unload(ctx context.Context, name string, dependents bool) error {
	req := &inference.RepositoryModelUnloadRequest{ModelName: name}
	if !r.mine(name) {
		if err := r.unknown(name); err != nil {
			return err
		}
		return r.fleet.Each(name, true, func(c client) error {
			_, err := c.RepositoryModelUnload(ctx, req)
			return err
		})
	}
	cfg, _ := r.registry.Config(name, "") // nil for one that is not in service
	if _, err := r.service.RepositoryModelUnload(ctx, req); err != nil || !dependents {
		return err
	}
	for _, step := range modelconfig.Steps(cfg) {
		if r.needed(step) || (!r.mine(step) && !r.fleet.Catalog().Has(step)) {
			continue
		}
		if err := r.unload(ctx, step, true); err != nil {
			return failure.Prefix("step "+step, err)
		}
	}
	return nil
}

// needed tells whether an ensemble in service calls the model.
func (r *Router) needed(model string) bool {
	for _, m := range r.registry.Index(false) {
		cfg, err := r.registry.Config(m.GetName(), m.GetVersion())
		if err == nil && slices.Contains(modelconfig.Steps(cfg), model) {
			return true
		}
	}
	return false
}
