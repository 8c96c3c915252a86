package modelserver

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Info names a server in its metadata.
type Info struct {
	Name, Version string
}

// extensions are what ServerMetadata lists, by Triton's names.
var extensions = []string{
	"binary_tensor_data", "model_configuration", "model_repository", "parameters", "statistics",
}

// Service serves a registry's models over the Open Inference Protocol. Its
// errors are failures: whoever puts it behind gRPC turns them into statuses.
type Service struct {
	inference.UnimplementedGRPCInferenceServiceServer
	info     Info
	registry *Registry
	// control allows loading and unloading by request.
	control bool
	waited  waited
}

var _ inference.GRPCInferenceServiceServer = (*Service)(nil)

// NewService makes the service of a registry. With control, callers may load
// and unload models (Triton's explicit model control).
func NewService(info Info, registry *Registry, control bool) *Service {
	return &Service{info: info, registry: registry, control: control}
}

// ServerLive always is: whoever can answer lives.
func (s *Service) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

// ServerReady tells whether everything that was promised can be served now.
func (s *Service) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: s.registry.Ready() == nil}, nil
}

// ServerMetadata names the server and its extensions.
func (s *Service) ServerMetadata(context.Context, *inference.ServerMetadataRequest) (*inference.ServerMetadataResponse, error) {
	return &inference.ServerMetadataResponse{Name: s.info.Name, Version: s.info.Version, Extensions: extensions}, nil
}

// ModelReady tells whether a version can serve. Unknown ones are NotFound.
func (s *Service) ModelReady(_ context.Context, req *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	err := s.registry.look(req.GetName(), func(m *model) error {
		v, err := m.find(req.GetName(), req.GetVersion(), (*version).status)
		if err != nil {
			return err
		}
		if state, reason := v.status(); state != Ready {
			return v.notReady(state, reason)
		}
		return nil
	})
	if failure.KindOf(err) == failure.Unavailable {
		return &inference.ModelReadyResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &inference.ModelReadyResponse{Ready: true}, nil
}

// ModelMetadata gives the tensors of a version that is ready.
func (s *Service) ModelMetadata(_ context.Context, req *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	v, err := s.registry.acquire(req.GetName(), req.GetVersion(), (*version).status)
	if err != nil {
		return nil, err
	}
	defer v.release()
	return v.metadata(s.registry.readyVersions(req.GetName()), s.registry.labels(req.GetName())), nil
}

// ModelConfig gives the completed configuration of a version that is loaded.
func (s *Service) ModelConfig(_ context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	cfg, err := s.registry.Config(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &inference.ModelConfigResponse{Config: cfg}, nil
}

// ModelStatistics gives the counts of the versions that are loaded. A model
// that was named and has none is Unavailable.
func (s *Service) ModelStatistics(_ context.Context, req *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	if req.GetName() != "" {
		v, err := s.registry.acquire(req.GetName(), req.GetVersion(), (*version).life)
		if err != nil {
			return nil, err
		}
		defer v.release()
		if req.GetVersion() != "" {
			return &inference.ModelStatisticsResponse{ModelStats: []*inference.ModelStatistics{v.stats.message(v.name, v.String())}}, nil
		}
	}
	resp := &inference.ModelStatisticsResponse{}
	s.registry.each(func(v *version) {
		if v.inService() && (req.GetName() == "" || req.GetName() == v.name) {
			resp.ModelStats = append(resp.ModelStats, v.stats.message(v.name, v.String()))
		}
	})
	return resp, nil
}
