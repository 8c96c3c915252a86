package rpc

import (
	"context"
	"errors"
	"net"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"

	"triptych/shared/app"
	"triptych/shared/telemetry"
)

// Server is a gRPC server with health and reflection. Register services on it
// before it starts.
type Server struct {
	*grpc.Server
	port   *app.Port
	health *health.Server
	guard  *guard
}

// NewServer makes a server. It starts as not serving: see SetServing.
func NewServer(address string, cfg Config, tel *telemetry.Telemetry) *Server {
	guard := &guard{logger: tel.Logger, timeout: cfg.RequestTimeout, ending: make(chan struct{})}
	codec := newCodec()
	s := &Server{
		Server: grpc.NewServer(
			experimental.BufferPool(codec.pool),
			grpc.ForceServerCodecV2(codec),
			grpc.MaxRecvMsgSize(cfg.MaxMessageBytes),
			grpc.MaxSendMsgSize(cfg.MaxMessageBytes),
			grpc.MaxConcurrentStreams(maxConcurrentCalls),
			grpc.InitialWindowSize(streamWindow),
			grpc.InitialConnWindowSize(connectionWindow),
			grpc.ReadBufferSize(readBuffer),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinimum, PermitWithoutStream: true}),
			// A connection has no greatest age: a stream, or the load of a large model, may
			// last for as long as it needs.
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
			grpc.StatsHandler(serverTracing(tel)),
			grpc.UnaryInterceptor(guard.unary),
			grpc.StreamInterceptor(guard.stream),
		),
		health: health.NewServer(),
		guard:  guard,
	}
	s.port = app.NewPort(address, func(l net.Listener) error {
		if err := s.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	s.SetServing(false)
	grpc_health_v1.RegisterHealthServer(s.Server, s.health)
	reflection.Register(s.Server)
	return s
}

// SetServing tells clients that balance whether to send work here.
func (s *Server) SetServing(serving bool) {
	status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if serving {
		status = grpc_health_v1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", status)
}

// Start binds and serves. It can be called once.
func (s *Server) Start(ctx context.Context) error { return s.port.Start(ctx) }

// Stop finishes the calls that run, and of a stream what it holds; when ctx ends
// it cuts them off. A handler that does not heed its context is left behind. Stop
// may be called again, and before Start.
func (s *Server) Stop(ctx context.Context) error {
	s.health.Shutdown()
	s.guard.endStreams()
	graceful := make(chan struct{})
	go func() {
		defer close(graceful)
		s.GracefulStop()
	}()
	var err error
	select {
	case <-graceful:
	case <-ctx.Done():
		err = ctx.Err()
		// GracefulStop itself goes on to wait for the handlers: not waited for.
		s.Server.Stop()
	}
	s.port.Wait()
	return err
}

// Address is where the server listens, with the port that was chosen when the
// wanted one was 0.
func (s *Server) Address() string { return s.port.Address() }

// Part is the server as a part of an app.
func (s *Server) Part(name string) app.Part {
	return app.Part{Name: name, Start: s.Start, Stop: s.Stop, Failed: s.port.Failed(), Door: true}
}

// serverTracing knows the connections, and makes a server span for each call that works. What a gateway or
// a probe asks every second would bury those.
func serverTracing(tel *telemetry.Telemetry) stats.Handler {
	return lines{otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(tel.TracerProvider),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(filters.Any(
			filters.MethodPrefix("ModelInfer"),
			filters.MethodPrefix("ModelStreamInfer"),
			filters.MethodPrefix("RepositoryModel"), // load and unload
		)),
	)}
}
