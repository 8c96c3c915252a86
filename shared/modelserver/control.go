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

// RepositoryModelLoad loads a model from the repository, or loads it again.
func (s *Service) RepositoryModelLoad(ctx context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	if err := s.mayControl(); err != nil {
		return nil, err
	}
	if len(req.GetParameters()) > 0 {
		return nil, failure.New(failure.Unsupported, "load takes no parameters: a model is loaded as the repository has it")
	}
	return &inference.RepositoryModelLoadResponse{}, s.registry.Load(ctx, req.GetModelName())
}

// RepositoryModelUnload takes a model out of service.
func (s *Service) RepositoryModelUnload(ctx context.Context, req *inference.RepositoryModelUnloadRequest) (*inference.RepositoryModelUnloadResponse, error) {
	if err := s.mayControl(); err != nil {
		return nil, err
	}
	return &inference.RepositoryModelUnloadResponse{}, s.registry.Unload(ctx, req.GetModelName())
}

func (s *Service) mayControl() error {
	if s.control {
		return nil
	}
	return failure.New(failure.Forbidden, "models can't be loaded or unloaded by request: start with --model-control-mode explicit")
}
