package server_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"triptych/loadtest/bench/server"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// addressVariable makes this test's binary a server.
const addressVariable = "BENCH_TEST_SERVER"

func TestMain(m *testing.M) {
	if address := os.Getenv(addressVariable); address != "" {
		serve(address)
		return
	}
	testkit.Main(m)
}

// toy is a server whose model "m" counts the requests.
type toy struct {
	inference.UnimplementedGRPCInferenceServiceServer
	loads uint64
}

func serve(address string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return
	}
	s := grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(s, &toy{})
	context.AfterFunc(ctx, s.Stop)
	_ = s.Serve(listener)
}

func (t *toy) ServerLive(context.Context, *inference.ServerLiveRequest) (*inference.ServerLiveResponse, error) {
	return &inference.ServerLiveResponse{Live: true}, nil
}

func (t *toy) ModelReady(_ context.Context, req *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	return &inference.ModelReadyResponse{Ready: req.GetName() == "m"}, nil
}

func (t *toy) ModelInfer(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	return &inference.ModelInferResponse{ModelName: "m"}, nil
}

func (t *toy) RepositoryModelLoad(_ context.Context, req *inference.RepositoryModelLoadRequest) (*inference.RepositoryModelLoadResponse, error) {
	if req.GetModelName() != "m" {
		return nil, failure.ToStatus(failure.New(failure.NotFound, "no such model"))
	}
	t.loads++
	return &inference.RepositoryModelLoadResponse{}, nil
}

func (t *toy) ModelStatistics(context.Context, *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	return &inference.ModelStatisticsResponse{ModelStats: []*inference.ModelStatistics{
		{Version: "1", InferenceCount: 10 * t.loads, ExecutionCount: 2 * t.loads},
		{Version: "2", InferenceCount: 4, ExecutionCount: 4},
	}}, nil
}

// command runs this test's binary as a server, behind a shell that does not
// replace itself and so must be waited for with its child.
func command(t *testing.T) (command, address string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	address = testkit.FreeAddress(t)
	return addressVariable + "=" + address + " '" + self + "'; true", address
}

func TestServer(t *testing.T) {
	text, address := command(t)
	for range 2 { // the port must be free again
		s, err := server.Start(t.Context(), text, address, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, s)
		for range 2 {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

func ask(t *testing.T, s *server.Server) {
	t.Helper()
	ctx := t.Context()
	before, err := s.Counts(ctx, "m")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(ctx, "m"); err != nil {
		t.Error(err)
	}
	if err := s.Load(ctx, "m"); err != nil {
		t.Error(err)
	}
	if err := s.Load(ctx, "n"); err == nil || !strings.Contains(err.Error(), "load n: ") {
		t.Errorf("load of another model: %v", err)
	}
	after, err := s.Counts(ctx, "m")
	if got := after.Batch(before); err != nil || got != 5 {
		t.Errorf("batch %v, error %v", got, err)
	}
	if got := after.Batch(after); got != 0 {
		t.Errorf("batch of nothing is %v", got)
	}
	if resp, err := s.Infer(ctx, &inference.ModelInferRequest{}); err != nil || resp.GetModelName() != "m" {
		t.Errorf("answer %v, error %v", resp, err)
	}
	memory, err := s.Memory()
	if err != nil || memory < 100<<10 {
		t.Errorf("memory %d, error %v", memory, err)
	}
	if peak, err := s.Peak(); err != nil || peak < memory {
		t.Errorf("at most %d, now %d, error %v", peak, memory, err)
	}
	if err := s.ResetPeak(); err != nil {
		t.Error(err)
	}
	if cpu, err := s.CPU(); err != nil || cpu < 0 || cpu > time.Minute {
		t.Errorf("CPU %s, error %v", cpu, err)
	}
}

func TestStartRefuses(t *testing.T) {
	if _, err := server.Start(t.Context(), "exit 3", testkit.FreeAddress(t), io.Discard); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a command that ends: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Start(ctx, "sleep 60", testkit.FreeAddress(t), io.Discard); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("a command that never serves: %v", err)
	}
}
