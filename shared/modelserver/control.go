package modelserver

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// RepositoryIndex lists every model that this service claims.
func (s *Service) RepositoryIndex(_ context.Context, req *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	if req.GetRepositoryName() != "" {
		return nil, failure.New(failure.Unsupported, "a repository can't be named: there is one")
	}
	return &inference.RepositoryIndexResponse{Models: s.registry.Index(req.GetReady())}, nil
}

// RepositoryModelLoad loads a model from the repository, or with what the request
// brings, or loads it again.
func (s *Service) RepositoryModelLoad(ctx context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	if err := s.Controllable(); err != nil {
		return nil, err
	}
	o, err := NewOverride(req.GetParameters())
	switch {
	case err != nil:
		return nil, err
	case o != nil:
		return &inference.RepositoryModelLoadResponse{}, s.registry.LoadOverride(ctx, req.GetModelName(), *o)
	}
	return &inference.RepositoryModelLoadResponse{}, s.registry.Load(ctx, req.GetModelName())
}

// RepositoryModelUnload takes a model out of service.
func (s *Service) RepositoryModelUnload(ctx context.Context, req *inference.RepositoryModelUnloadRequest) (*inference.RepositoryModelUnloadResponse, error) {
	if err := s.Controllable(); err != nil {
		return nil, err
	}
	// What depends on a model lives elsewhere: whoever knows it follows the parameter.
	if _, err := UnloadDependents(req); err != nil {
		return nil, err
	}
	return &inference.RepositoryModelUnloadResponse{}, s.registry.Unload(ctx, req.GetModelName())
}

// UnloadDependents reads the one parameter of an unload: whether an ensemble takes
// its steps with it.
func UnloadDependents(req *inference.RepositoryModelUnloadRequest) (bool, error) {
	const name = "unload_dependents"
	for key, value := range req.GetParameters() {
		if key != name {
			return false, failure.New(failure.Invalid, "unknown parameter %s of an unload: there is %q", failure.Quote(key), name)
		}
		if _, ok := value.GetParameterChoice().(*inference.ModelRepositoryParameter_BoolParam); !ok {
			return false, failure.New(failure.Invalid, "the parameter %q must be true or false", name)
		}
	}
	return req.GetParameters()[name].GetBoolParam(), nil
}

// Controllable says why models can't be loaded and unloaded by request; nil when
// they can.
func (s *Service) Controllable() error {
	if s.control {
		return nil
	}
	return failure.New(failure.Forbidden, "models can't be loaded or unloaded by request: start with --model-control-mode explicit")
}
