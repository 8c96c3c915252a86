// Package fake is a model server for tests of the HTTP front: its models are a
// configuration and a function each. It checks requests as a real server does.
package fake

import (
	"context"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Model is one model of the fake, at version 1.
type Model struct {
	Config *inference.ModelConfig
	// Run answers a checked request; it may leave the names to the server.
	Run func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)
	// Fault, when set, is why the model can't be asked at all.
	Fault error
}

// Server is the fake. Live and Ready are what it says of itself.
type Server struct {
	inference.UnimplementedGRPCInferenceServiceServer
	Models      []Model
	Dead        bool
	NotReady    bool
	Statistics  *inference.ModelStatisticsResponse
	Index       *inference.RepositoryIndexResponse
	OnLoad      func(ctx context.Context, req *inference.RepositoryModelLoadRequest) error
	OnUnload    func(req *inference.RepositoryModelUnloadRequest) error
	OnIndex     func(req *inference.RepositoryIndexRequest)
	OnStatistic func(req *inference.ModelStatisticsRequest) error
	// OnInfer sees every request as the front made it.
	OnInfer func(ctx context.Context, req *inference.ModelInferRequest)
}

var _ inference.GRPCInferenceServiceServer = (*Server)(nil)

func (s *Server) model(name, version string) (Model, error) {
	for _, m := range s.Models {
		if m.Config.GetName() != name {
			continue
		}
		if version != "" && version != "1" {
			return m, failure.New(failure.NotFound, "unknown version %s of model %q", version, name)
		}
		return m, m.Fault
	}
	return Model{}, failure.New(failure.NotFound, "unknown model %q", name)
}

// ServerLive implements the service.
func (s *Server) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: !s.Dead}, nil
}

// ServerReady implements the service.
func (s *Server) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: !s.NotReady}, nil
}

// ModelReady implements the service. A fault makes a model not ready.
func (s *Server) ModelReady(_ context.Context, req *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	m, err := s.model(req.GetName(), req.GetVersion())
	if err != nil && m.Fault == nil {
		return nil, err
	}
	return &inference.ModelReadyResponse{Ready: err == nil}, nil
}

// ServerMetadata implements the service.
func (s *Server) ServerMetadata(context.Context, *inference.ServerMetadataRequest) (*inference.ServerMetadataResponse, error) {
	return &inference.ServerMetadataResponse{Name: "triptych", Version: "0.1.0", Extensions: []string{"binary_tensor_data", "statistics"}}, nil
}

// ModelMetadata implements the service.
func (s *Server) ModelMetadata(_ context.Context, req *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	m, err := s.model(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	cfg := m.Config
	resp := &inference.ModelMetadataResponse{Name: cfg.GetName(), Versions: []string{"1"}, Platform: cfg.GetPlatform(), Properties: map[string]string{"device": "cpu"}}
	for _, in := range cfg.GetInput() {
		resp.Inputs = append(resp.Inputs, &inference.ModelMetadataResponse_TensorMetadata{
			Name: in.GetName(), Datatype: oip.Datatype(in.GetDataType()), Shape: oip.WireShape(cfg.GetMaxBatchSize(), in.GetDims()),
		})
	}
	for _, out := range cfg.GetOutput() {
		resp.Outputs = append(resp.Outputs, &inference.ModelMetadataResponse_TensorMetadata{
			Name: out.GetName(), Datatype: oip.Datatype(out.GetDataType()), Shape: oip.WireShape(cfg.GetMaxBatchSize(), out.GetDims()),
		})
	}
	return resp, nil
}

// ModelConfig implements the service.
func (s *Server) ModelConfig(_ context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	m, err := s.model(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &inference.ModelConfigResponse{Config: m.Config}, nil
}

// ModelInfer implements the service.
func (s *Server) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	if s.OnInfer != nil {
		s.OnInfer(ctx, req)
	}
	m, err := s.model(req.GetModelName(), req.GetModelVersion())
	if err != nil {
		return nil, err
	}
	if _, err := oip.MakeRaw(req); err != nil {
		return nil, err
	}
	if _, err := oip.Check(req, m.Config); err != nil {
		return nil, err
	}
	resp, err := m.Run(ctx, req)
	if err != nil {
		return nil, err
	}
	resp.ModelName, resp.ModelVersion, resp.Id = req.GetModelName(), "1", req.GetId()
	return resp, oip.Arrange(req, resp)
}

// ModelStatistics implements the service.
func (s *Server) ModelStatistics(_ context.Context, req *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	if s.OnStatistic != nil {
		if err := s.OnStatistic(req); err != nil {
			return nil, err
		}
	}
	return s.Statistics, nil
}

// RepositoryIndex implements the service.
func (s *Server) RepositoryIndex(_ context.Context, req *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	if s.OnIndex != nil {
		s.OnIndex(req)
	}
	return s.Index, nil
}

// RepositoryModelLoad implements the service.
func (s *Server) RepositoryModelLoad(ctx context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	return &inference.RepositoryModelLoadResponse{}, s.OnLoad(ctx, req)
}

// RepositoryModelUnload implements the service.
func (s *Server) RepositoryModelUnload(_ context.Context, req *inference.RepositoryModelUnloadRequest) (*inference.RepositoryModelUnloadResponse, error) {
	return &inference.RepositoryModelUnloadResponse{}, s.OnUnload(req)
}
