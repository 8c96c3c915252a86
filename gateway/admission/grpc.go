package admission

import (
	"context"

	"google.golang.org/grpc/metadata"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// server admits what takes memory and time in proportion to what was sent; all
// else passes.
type server struct {
	inference.GRPCInferenceServiceServer
	admission *Admission
}

// Server is next behind the gRPC door: its room, and the gates of its models.
func (a *Admission) Server(next inference.GRPCInferenceServiceServer) inference.GRPCInferenceServiceServer {
	return &server{GRPCInferenceServiceServer: a.Models(next), admission: a}
}

// ModelInfer implements the service.
func (s *server) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	ctx, err := withTenant(ctx)
	if err != nil {
		return nil, err
	}
	grant, err := s.admission.Admit(GRPC, requestBytes(req))
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	return s.GRPCInferenceServiceServer.ModelInfer(ctx, req)
}

// withTenant reads for whom the caller asks.
func withTenant(ctx context.Context) (context.Context, error) {
	names := metadata.ValueFromIncomingContext(ctx, call.TenantHeader)
	if len(names) == 0 {
		return ctx, nil
	}
	return WithTenant(ctx, names[0])
}

// WithTenant is ctx with the tenant that a caller named. A name that can't be one is
// Invalid.
func WithTenant(ctx context.Context, name string) (context.Context, error) {
	if !call.ValidTenant(name) {
		return ctx, failure.New(failure.Invalid, "the header %s %s", call.TenantHeader, call.TenantRule)
	}
	info := call.Of(ctx)
	info.Tenant = name
	return call.With(ctx, info), nil
}

// ModelStreamInfer implements the service. Each request is admitted by itself: one
// that has no room is answered so, and the stream goes on.
func (s *server) ModelStreamInfer(stream inference.GRPCInferenceService_ModelStreamInferServer) error {
	bounded := newBoundedStream(stream)
	return modelserver.ServeStream(bounded, func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		resp, err := s.ModelInfer(ctx, req)
		if err == nil {
			bounded.hold(responseBytes(resp))
		}
		return resp, err
	})
}

// RepositoryModelLoad implements the service. Its parameters may hold whole files.
func (s *server) RepositoryModelLoad(ctx context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	var bytes int64
	for _, p := range req.GetParameters() {
		bytes += int64(len(p.GetBytesParam()) + len(p.GetStringParam()))
	}
	grant, err := s.admission.Admit(GRPC, bytes)
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	return s.GRPCInferenceServiceServer.RepositoryModelLoad(ctx, req)
}
