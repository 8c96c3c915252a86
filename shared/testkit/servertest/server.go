package servertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// Options say how a server is made. All have defaults.
type Options struct {
	// Address is where it listens: a free port of 127.0.0.1 if empty.
	Address string
	// Folders are the model repository.
	Folders []string
	// Control allows loading and unloading by request.
	Control bool
	// Load, when it is not nil, are the only models that are loaded at the start.
	Load []string
	// Telemetry is telemetry.Discard if nil.
	Telemetry *telemetry.Telemetry
	// Wrap makes what answers out of the service.
	Wrap func(*modelserver.Service) inference.GRPCInferenceServiceServer
}

// Server is a model server that listens.
type Server struct {
	Registry *modelserver.Registry
	Service  *modelserver.Service
	Address  string

	rpc  *rpc.Server
	stop sync.Once
}

// Start starts a server that has loaded its models. It ends with the test.
func Start(tb testing.TB, o Options, backends ...modelserver.Backend) *Server {
	tb.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Telemetry == nil {
		o.Telemetry = telemetry.Discard()
	}
	s := &Server{Registry: NewRegistry(tb, o.Telemetry, o.Folders, backends...)}
	if err := s.load(o.Load); err != nil {
		tb.Fatal(err)
	}
	s.Service = modelserver.NewService(modelserver.Info{Name: "servertest"}, s.Registry, o.Control)
	s.rpc = rpc.NewServer(o.Address, rpc.DefaultConfig(), o.Telemetry)
	var server inference.GRPCInferenceServiceServer = s.Service
	if o.Wrap != nil {
		server = o.Wrap(s.Service)
	}
	inference.RegisterGRPCInferenceServiceServer(s.rpc, server)
	if err := s.rpc.Start(context.Background()); err != nil {
		tb.Fatal(err)
	}
	s.Address = s.rpc.Address()
	s.rpc.SetServing(true)
	tb.Cleanup(s.Kill)
	return s
}

func (s *Server) load(names []string) error {
	if names != nil {
		return s.Registry.LoadNamed(context.Background(), names)
	}
	return s.Registry.LoadAll(context.Background())
}

// Kill ends the server without grace. It may be called again.
func (s *Server) Kill() {
	s.stop.Do(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.rpc.Stop(now) // it says that it was not given time
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Registry.Close(ctx)
	})
}

// NewRegistry makes a registry over folders, with nothing loaded.
func NewRegistry(tb testing.TB, tel *telemetry.Telemetry, folders []string, backends ...modelserver.Backend) *modelserver.Registry {
	tb.Helper()
	repository, err := modelserver.NewRepository(folders...)
	if err != nil {
		tb.Fatal(err)
	}
	registry, err := modelserver.NewRegistry(repository, tel, backends...)
	if err != nil {
		tb.Fatal(err)
	}
	return registry
}

// Client is a connection to an address, which ends with the test.
func Client(tb testing.TB, address string) inference.GRPCInferenceServiceClient {
	tb.Helper()
	conn, err := rpc.Dial(address, rpc.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return inference.NewGRPCInferenceServiceClient(conn)
}
