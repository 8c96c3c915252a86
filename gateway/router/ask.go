package router

import (
	"context"

	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

// client is one of the methods of the protocol's client, without its options.
type client = inference.GRPCInferenceServiceClient

// ModelReady tells whether a model can be served. One that is there and is not
// served now, for whatever reason, is not ready; an unknown one is NotFound.
func (r *Router) ModelReady(ctx context.Context, req *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	if r.mine(req.GetName()) {
		return r.service.ModelReady(ctx, req)
	}
	err := r.unknown(req.GetName())
	var resp *inference.ModelReadyResponse
	if err == nil {
		resp, err = upstream.Ask(ctx, r.fleet, req.GetName(), req.GetVersion(), req, func(c client, ctx context.Context, req *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
			return c.ModelReady(ctx, req)
		})
	}
	if failure.KindOf(err) == failure.Unavailable {
		return &inference.ModelReadyResponse{}, nil
	}
	return resp, err
}

// ModelMetadata gives the tensors of a model.
func (r *Router) ModelMetadata(ctx context.Context, req *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	if r.mine(req.GetName()) {
		return r.service.ModelMetadata(ctx, req)
	}
	if err := r.unknown(req.GetName()); err != nil {
		return nil, err
	}
	return upstream.Ask(ctx, r.fleet, req.GetName(), req.GetVersion(), req, func(c client, ctx context.Context, req *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
		return c.ModelMetadata(ctx, req)
	})
}

// ModelConfig gives the completed configuration of a model.
func (r *Router) ModelConfig(ctx context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	if r.mine(req.GetName()) {
		return r.service.ModelConfig(ctx, req)
	}
	if err := r.unknown(req.GetName()); err != nil {
		return nil, err
	}
	return upstream.Ask(ctx, r.fleet, req.GetName(), req.GetVersion(), req, func(c client, ctx context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
		return c.ModelConfig(ctx, req)
	})
}
