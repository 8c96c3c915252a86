package modelserver

import (
	"context"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Info names a server in its metadata.
type Info struct {
	Name, Version string
}

// extensions are what ServerMetadata lists, by Triton's names.
var extensions = []string{
	"binary_tensor_data", "model_configuration", "model_repository", "parameters", "schedule_policy", "statistics",
}

// Service serves a registry's models over the Open Inference Protocol. Its
// errors are failures: whoever puts it behind gRPC turns them into statuses.
type Service struct {
	inference.UnimplementedGRPCInferenceServiceServer
	info     Info
	registry *Registry
	// control allows loading and unloading by request.
	control bool
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
	v, err := s.registry.find(req.GetName(), req.GetVersion())
	if failure.KindOf(err) == failure.Unavailable {
		return &inference.ModelReadyResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	state, _ := v.status()
	return &inference.ModelReadyResponse{Ready: state == Ready}, nil
}

// ModelMetadata gives the tensors of a version that is ready.
func (s *Service) ModelMetadata(_ context.Context, req *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	v, err := s.registry.find(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	if err := v.hold(); err != nil {
		return nil, err
	}
	defer v.release()
	return v.metadata(s.registry.readyVersions(req.GetName())), nil
}

// ModelConfig gives the completed configuration of a version that is ready.
func (s *Service) ModelConfig(_ context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	v, err := s.registry.find(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &inference.ModelConfigResponse{Config: v.config}, nil
}

// ModelStatistics gives the counts of the versions that are ready.
func (s *Service) ModelStatistics(_ context.Context, req *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	resp := &inference.ModelStatisticsResponse{}
	if req.GetName() != "" && req.GetVersion() != "" {
		v, err := s.registry.find(req.GetName(), req.GetVersion())
		if err != nil {
			return nil, err
		}
		resp.ModelStats = append(resp.ModelStats, v.stats.message(req.GetName(), v.String()))
		return resp, nil
	}
	if req.GetName() != "" && s.registry.get(req.GetName()) == nil {
		return nil, failure.New(failure.NotFound, "unknown model %q", Shorten(req.GetName()))
	}
	s.registry.each(func(name string, v *version) {
		if state, _ := v.status(); state == Ready && (req.GetName() == "" || req.GetName() == name) {
			resp.ModelStats = append(resp.ModelStats, v.stats.message(name, v.String()))
		}
	})
	return resp, nil
}

// ModelInfer runs one request: the raw form of what came, checked, through the
// model, and back in the form that it came in.
func (s *Service) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	start := time.Now()
	v, err := s.registry.find(req.GetModelName(), req.GetModelVersion())
	if err == nil {
		err = v.hold()
	}
	if err != nil {
		s.registry.metrics.observe("unknown", "unknown", err, time.Since(start))
		return nil, err
	}
	defer v.release()
	resp, err := s.infer(ctx, v, req, start)
	took := time.Since(start)
	if err != nil {
		v.stats.Failed(failure.KindOf(err), took)
	}
	s.registry.metrics.observe(v.config.GetName(), v.String(), err, took)
	return resp, err
}

func (s *Service) infer(ctx context.Context, v *version, req *inference.ModelInferRequest, start time.Time) (*inference.ModelInferResponse, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	typed, err := oip.MakeRaw(req)
	if err != nil {
		return nil, err
	}
	batch, err := oip.Check(req, v.config)
	if err != nil {
		return nil, err
	}
	resp, timing, err := v.infer(ctx, req, batch)
	if err != nil {
		return nil, err
	}
	resp.ModelName, resp.ModelVersion, resp.Id = v.config.GetName(), v.String(), req.GetId()
	if err := oip.Arrange(req, resp); err != nil {
		return nil, err
	}
	setTiming(resp, timing)
	now := time.Now()
	v.stats.Succeeded(now, batch, now.Sub(start), timing)
	if typed {
		return resp, oip.MakeTyped(resp)
	}
	return resp, nil
}

func setTiming(resp *inference.ModelInferResponse, t Timing) {
	if resp.Parameters == nil {
		resp.Parameters = oip.Parameters{}
	}
	resp.Parameters[QueueParameter] = oip.Int64(t.Queue.Microseconds())
	resp.Parameters[ComputeParameter] = oip.Int64(t.Compute().Microseconds())
}
