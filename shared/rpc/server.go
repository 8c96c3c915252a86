package rpc

import (
	"context"
	"net"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"triptych/shared/app"
	"triptych/shared/telemetry"
)

// Server is a gRPC server with health and reflection. Register services on it
// before it starts.
type Server struct {
	*grpc.Server
	address string
	health  *health.Server

	mu       sync.Mutex
	listener net.Listener
	failed   chan error
	done     chan struct{}
}

// NewServer makes a server. It starts as not serving: see SetServing.
func NewServer(address string, cfg Config, tel *telemetry.Telemetry) *Server {
	unary := &unaryServer{logger: tel.Logger}
	s := &Server{
		Server: grpc.NewServer(
			grpc.MaxRecvMsgSize(cfg.MaxMessageBytes),
			grpc.MaxSendMsgSize(cfg.MaxMessageBytes),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinimum, PermitWithoutStream: true}),
			grpc.KeepaliveParams(keepalive.ServerParameters{
				Time: keepaliveTime, Timeout: keepaliveTimeout,
				MaxConnectionAge: maxConnectionAge, MaxConnectionAgeGrace: maxConnectionAgeGrace,
			}),
			grpc.StatsHandler(serverTracing(tel)),
			grpc.UnaryInterceptor(unary.intercept),
			grpc.StreamInterceptor(unary.interceptStream),
		),
		address: address,
		health:  health.NewServer(),
		failed:  make(chan error, 1),
		done:    make(chan struct{}),
	}
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

// Start binds and serves.
func (s *Server) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	go func() {
		defer close(s.done)
		if err := s.Serve(l); err != nil {
			s.failed <- err
		}
	}()
	return nil
}

// Stop finishes the calls that run; when ctx ends it cuts them off.
func (s *Server) Stop(ctx context.Context) error {
	s.health.Shutdown()
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
		s.Server.Stop()
		<-graceful
	}
	<-s.done
	return err
}

// Address is where the server listens, with the port that was chosen when the
// wanted one was 0.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return s.address
	}
	return s.listener.Addr().String()
}

// Part is the server as a part of an app.
func (s *Server) Part(name string) app.Part {
	return app.Part{Name: name, Start: s.Start, Stop: s.Stop, Failed: s.failed}
}

// serverTracing makes a server span for each call but those of health checks.
func serverTracing(tel *telemetry.Telemetry) (handler statsHandler) {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(tel.TracerProvider),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(filters.ServiceName("inference.GRPCInferenceService")),
	)
}
