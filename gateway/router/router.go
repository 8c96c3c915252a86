// Package router is the gateway's one answer to the Open Inference Protocol: the
// gateway's own ensembles and every model of every upstream, as one server. It
// decides where a request goes and joins what many say.
package router

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/ensemble"
	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Router serves everything. Use must be called before it serves.
type Router struct {
	inference.UnimplementedGRPCInferenceServiceServer
	fleet      *upstream.Fleet
	repository *modelserver.Repository
	listing    *listing
	promises   promises
	tracer     trace.Tracer
	// The gateway's own models, which Use sets.
	service  *modelserver.Service
	registry *modelserver.Registry
}

var (
	_ inference.GRPCInferenceServiceServer = (*Router)(nil)
	_ ensemble.Steps                       = (*Router)(nil)
)

// New makes a router over the upstreams. The repository tells it of models that
// nobody claims.
func New(fleet *upstream.Fleet, repository *modelserver.Repository, tel *telemetry.Telemetry) *Router {
	return &Router{fleet: fleet, repository: repository, listing: newListing(repository.Scan), tracer: tel.Tracer}
}

// Use gives the router the gateway's own models, whose steps it runs in turn.
func (r *Router) Use(service *modelserver.Service, registry *modelserver.Registry) {
	r.service, r.registry = service, registry
}

// mine tells whether a model is one of the gateway's own.
func (r *Router) mine(name string) bool { return r.registry.Has(name) }

// unknown is the failure for a model that no upstream claims: not there at all,
// or there and served by nobody now.
func (r *Router) unknown(name string) error {
	if r.fleet.Catalog().Has(name) {
		return nil
	}
	entry, found, err := r.listing.find(name)
	switch {
	case err != nil:
		return err
	case !found:
		return failure.New(failure.NotFound, "unknown model %s", failure.Quote(name))
	}
	return failure.New(failure.Unavailable, "model %q is not ready: %s", name, r.unclaimed(entry))
}

// Infer runs a step of an ensemble, here or at an upstream.
func (r *Router) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, string, error) {
	if r.mine(req.GetModelName()) {
		resp, err := r.service.ModelInfer(ctx, req)
		return resp, "gateway", err
	}
	if err := r.unknown(req.GetModelName()); err != nil {
		return nil, "", err
	}
	return r.fleet.Infer(ctx, req)
}

// Config implements ensemble.Steps. An ensemble that is a step is asked for its
// configuration only: whether it is ready is its own business, or two that name
// each other would ask each other for ever.
func (r *Router) Config(name, version string) (*inference.ModelConfig, error) {
	if r.mine(name) {
		return r.registry.Config(name, version)
	}
	return r.fleet.Catalog().Config(name, version)
}

// Generation implements ensemble.Steps. Both numbers only grow, so their sum
// changes when either does.
func (r *Router) Generation() uint64 {
	return r.fleet.Catalog().Generation + r.registry.Generation()
}

// ModelInfer runs one request: an ensemble here, any other model where it is
// served.
func (r *Router) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	if r.mine(req.GetModelName()) {
		return r.service.ModelInfer(ctx, req)
	}
	if err := r.unknown(req.GetModelName()); err != nil {
		return nil, err
	}
	ctx, span := r.tracer.Start(ctx, "infer "+req.GetModelName(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("rpc.system", "grpc"), attribute.String("triptych.model.name", req.GetModelName())))
	defer span.End()
	resp, peer, err := r.fleet.Infer(ctx, req)
	span.SetAttributes(attribute.String("server.address", peer))
	telemetry.Fail(span, err)
	return resp, err
}

// ModelStreamInfer runs the requests of a stream side by side.
func (r *Router) ModelStreamInfer(stream inference.GRPCInferenceService_ModelStreamInferServer) error {
	return modelserver.ServeStream(stream, r.ModelInfer)
}

// ServerLive always is.
func (r *Router) ServerLive(ctx context.Context, req *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return r.service.ServerLive(ctx, req)
}

// ServerReady tells whether every model that was promised can be served now, in
// some version. (A new version that can't be loaded while an old one serves takes
// nobody out, nor does a model that comes later.)
func (r *Router) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: r.ready() == nil}, nil
}

func (r *Router) ready() error {
	if err := r.registry.Ready(); err != nil {
		return err
	}
	if err := r.fleet.Settled(); err != nil {
		return err
	}
	index, err := r.index()
	if err != nil {
		return err
	}
	return r.promises.kept(index, func(name string) bool {
		return r.mine(name) || r.fleet.Catalog().Has(name) || r.registry.Promised(name)
	})
}

// ServerMetadata names the gateway as the whole.
func (r *Router) ServerMetadata(ctx context.Context, req *inference.ServerMetadataRequest) (*inference.ServerMetadataResponse, error) {
	m, err := r.service.ServerMetadata(ctx, req)
	if err == nil {
		m.Name = "triptych"
	}
	return m, err
}
