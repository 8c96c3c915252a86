package rpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triptych/proto/inference"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

type (
	request  = inference.ModelInferRequest
	response = inference.ModelInferResponse
	infer    = func(ctx context.Context, req *request) (*response, error)
)

// service is a server's own part: what ModelInfer does.
type service struct {
	inference.UnimplementedGRPCInferenceServiceServer
	infer infer
}

func (s *service) ModelInfer(ctx context.Context, req *request) (*response, error) {
	return s.infer(ctx, req)
}

func (s *service) ModelStreamInfer(stream inference.GRPCInferenceService_ModelStreamInferServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	resp, err := s.infer(stream.Context(), req)
	if err != nil {
		return err
	}
	return stream.Send(&inference.ModelStreamInferResponse{InferResponse: resp})
}

func echo(_ context.Context, req *request) (*response, error) { return &response{Id: req.GetId()}, nil }

// newServer makes a server that is not started.
func newServer(address string, cfg rpc.Config, tel *telemetry.Telemetry, infer infer) *rpc.Server {
	server := rpc.NewServer(address, cfg, tel)
	inference.RegisterGRPCInferenceServiceServer(server, &service{infer: infer})
	return server
}

// start makes a server that serves until the test ends.
func start(t *testing.T, address string, cfg rpc.Config, tel *telemetry.Telemetry, infer infer) *rpc.Server {
	t.Helper()
	server := newServer(address, cfg, tel, infer)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.SetServing(true)
	t.Cleanup(func() { stop(t, server) })
	return server
}

func stop(t *testing.T, server *rpc.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// dial is the client of our own services.
func dial(t *testing.T, cfg rpc.Config, address string) inference.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := rpc.Dial(address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return inference.NewGRPCInferenceServiceClient(conn)
}

// foreign is a client that is not ours: it adds nothing and has gRPC's limits
// but for those it is given.
func foreign(t *testing.T, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// within gives a call more time than it may need, so that a hang is a failure.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// log is a log that can be read while it is written.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func logging() (*telemetry.Telemetry, *log) {
	logs := &log{}
	tel := telemetry.Discard()
	tel.Logger = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return tel, logs
}

// benchClient is dial for benchmarks.
func benchClient(b *testing.B, address string) inference.GRPCInferenceServiceClient {
	b.Helper()
	conn, err := rpc.Dial(address, rpc.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return inference.NewGRPCInferenceServiceClient(conn)
}
