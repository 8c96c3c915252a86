package gate

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/queued"
	"triptych/proto/inference"
)

// WaitAttribute is the attribute of a request's span that has its wait, in
// microseconds.
const WaitAttribute = "triptych.admission.wait_us"

// server lets requests to models; all else passes.
type server struct {
	inference.GRPCInferenceServiceServer
	gates *Gates
}

// Server is next behind the gates.
func (g *Gates) Server(next inference.GRPCInferenceServiceServer) inference.GRPCInferenceServiceServer {
	return &server{GRPCInferenceServiceServer: next, gates: g}
}

// ModelInfer implements the service.
func (s *server) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, err error) {
	pass, err := s.gates.Enter(ctx, req.GetModelName())
	if err != nil {
		return nil, err
	}
	defer func() { pass.Leave(err) }()
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64(WaitAttribute, pass.Waited.Microseconds()))
	return s.GRPCInferenceServiceServer.ModelInfer(queued.With(ctx, &pass.queued), req)
}
