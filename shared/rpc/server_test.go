package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

func TestFailuresSurvive(t *testing.T) {
	tel, logs := logging()
	var failing error
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), tel, func(context.Context, *request) (*response, error) { return nil, failing })
	client := dial(t, rpc.DefaultConfig(), server.Address())
	tests := map[string]struct {
		err     error
		kind    failure.Kind
		message string
		logged  string
	}{
		"busy":         {&failure.Error{Kind: failure.Busy, Message: "queue is full", RetryAfter: 2 * time.Second}, failure.Busy, "queue is full", `level=DEBUG msg="call failed" method=/inference.GRPCInferenceService/ModelInfer kind=BUSY error="queue is full"`},
		"broken image": {failure.New(failure.BrokenImage, "image 2 is truncated"), failure.BrokenImage, "image 2 is truncated", "level=DEBUG"},
		"own fault":    {failure.Wrap(errors.New("secret"), failure.Internal, "the model failed"), failure.Internal, "the model failed", `level=ERROR msg="call failed" method=/inference.GRPCInferenceService/ModelInfer kind=INTERNAL error="the model failed: secret"`},
		"no Kind":      {errors.New("secret"), failure.Internal, "internal error", "level=ERROR"},
		"bare status":  {status.Error(codes.Unimplemented, "not here"), failure.Unsupported, "not here", "level=DEBUG"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			failing = tt.err
			before := len(logs.String())
			_, err := client.ModelInfer(within(t, 10*time.Second), &request{})
			got := failure.FromStatus(err, "peer")
			if failure.KindOf(got) != tt.kind || failure.Message(got) != tt.message || failure.RetryAfter(got) != failure.RetryAfter(tt.err) {
				t.Errorf("got %s %q after %s", failure.KindOf(got), failure.Message(got), failure.RetryAfter(got))
			}
			if line := logs.String()[before:]; !strings.Contains(line, tt.logged) {
				t.Errorf("logged %s, want %s", line, tt.logged)
			}
		})
	}
	if _, err := client.ServerLive(within(t, 10*time.Second), &inference.ServerLiveRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that is not there gives %v", err)
	}
}

func TestAPanicIsOneFailure(t *testing.T) {
	tel, logs := logging()
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), tel, func(ctx context.Context, req *request) (*response, error) {
		if req.GetId() == "bomb" {
			panic("at the disco")
		}
		return echo(ctx, req)
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	_, err := client.ModelInfer(within(t, 10*time.Second), &request{Id: "bomb"})
	if got := failure.FromStatus(err, "peer"); status.Code(err) != codes.Internal || failure.Message(got) != "internal error" {
		t.Errorf("got %v", err)
	}
	stream, err := client.ModelStreamInfer(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&request{Id: "bomb"}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("the stream got %v", err)
	}
	if n := strings.Count(logs.String(), `panic="at the disco"`); n != 2 || !strings.Contains(logs.String(), "server_test.go") {
		t.Errorf("%d panics are logged, want 2 with their stacks:\n%s", n, logs)
	}
	if resp, err := client.ModelInfer(within(t, 10*time.Second), &request{Id: "7"}); err != nil || resp.GetId() != "7" {
		t.Errorf("the server does not live on: %v", err)
	}
}

// RPC-01: both ends have one limit, above gRPC's 4 MiB, and what is beyond it is
// refused at once as too large.
func TestMessageLimits(t *testing.T) {
	small, large := rpc.Config{MaxMessageBytes: 1 << 20}, rpc.DefaultConfig()
	double := func(_ context.Context, req *request) (*response, error) {
		data := req.GetRawInputContents()[0]
		return &response{RawOutputContents: [][]byte{data, data}}, nil
	}
	tests := map[string]struct {
		server, client rpc.Config
		bytes          int
		ok             bool
	}{
		"8 MB photograph":     {large, large, 8_000_000, true},
		"batch 7 of 224":      {large, large, 7 * 3 * 224 * 224 * 4, true},
		"client's send":       {large, small, 2 << 20, false},
		"client's receive":    {large, small, 600_000, false},
		"server's receive":    {small, large, 2 << 20, false},
		"server's send":       {small, large, 600_000, false},
		"one below the limit": {small, small, 500_000, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := start(t, "127.0.0.1:0", tt.server, telemetry.Discard(), double)
			client := dial(t, tt.client, server.Address())
			data := bytes.Repeat([]byte{1}, tt.bytes)
			resp, err := client.ModelInfer(within(t, 20*time.Second), &request{RawInputContents: [][]byte{data}})
			switch {
			case tt.ok && err != nil:
				t.Error(err)
			case tt.ok && !bytes.Equal(resp.GetRawOutputContents()[1], data):
				t.Error("the bytes changed on their way")
			case !tt.ok && failure.KindOf(failure.FromStatus(err, "peer")) != failure.TooLarge:
				t.Errorf("got %v, want TOO_LARGE", failure.FromStatus(err, "peer"))
			}
		})
	}
}

func TestHealth(t *testing.T) {
	server := newServer("127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), echo)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stop(t, server)
	health := grpc_health_v1.NewHealthClient(foreign(t, server.Address()))
	for _, want := range []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_NOT_SERVING, // at first
		grpc_health_v1.HealthCheckResponse_SERVING,
		grpc_health_v1.HealthCheckResponse_NOT_SERVING,
	} {
		resp, err := health.Check(within(t, 10*time.Second), &grpc_health_v1.HealthCheckRequest{})
		if err != nil || resp.GetStatus() != want {
			t.Errorf("got %v, %v, want %s", resp, err, want)
		}
		server.SetServing(want != grpc_health_v1.HealthCheckResponse_SERVING)
	}
}

func TestStartAndStop(t *testing.T) {
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), echo)
	busy := newServer(server.Address(), rpc.DefaultConfig(), telemetry.Discard(), echo)
	if err := busy.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a busy port gives %v", err)
	}
	for range 2 { // it never started
		stop(t, busy)
	}
	if err := server.Start(t.Context()); err == nil {
		t.Error("started twice")
	}
	part := server.Part("gRPC port")
	stop(t, server)
	stop(t, server)
	select {
	case err := <-part.Failed:
		t.Errorf("an end that was asked for is told as a failure: %v", err)
	default:
	}
}

// A call that heeds nothing, as one in a C library, does not hold the end.
func TestStopIsBounded(t *testing.T) {
	running, release, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	server := newServer("127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(context.Context, *request) (*response, error) {
		defer close(left)
		close(running)
		<-release
		return &response{}, nil
	})
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	client := inference.NewGRPCInferenceServiceClient(foreign(t, server.Address(), grpc.WithDisableRetry()))
	go func() {
		_, err := client.ModelInfer(t.Context(), &request{})
		failed <- err
	}()
	<-running
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := server.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop gives %v", err)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("Stop took %s", took)
	}
	if err := <-failed; status.Code(err) != codes.Unavailable {
		t.Errorf("the call got %v", err)
	}
	close(release)
	<-left
}

func TestStopFinishesWhatRuns(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(ctx context.Context, req *request) (*response, error) {
		close(running)
		<-release
		return echo(ctx, req)
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	answer := make(chan error, 1)
	go func() {
		resp, err := client.ModelInfer(t.Context(), &request{Id: "7"})
		if err == nil && resp.GetId() != "7" {
			err = errors.New("the answer is " + resp.GetId())
		}
		answer <- err
	}()
	<-running
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	stop(t, server)
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	for bytes, ok := range map[int]bool{rpc.DefaultMaxMessageBytes: true, 1 << 20: true, 1 << 30: true, 1<<20 - 1: false, 1<<30 + 1: false, 0: false, -1: false} {
		cfg := rpc.DefaultConfig()
		cfg.MaxMessageBytes = bytes
		if err := cfg.Validate(); (err == nil) != ok {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
	cfg := rpc.DefaultConfig()
	cfg.RequestTimeout = 0
	if err := cfg.Validate(); err == nil || err.Error() != "--request-timeout is 0s, must be above 0" {
		t.Errorf("no time for requests: %v", err)
	}
}

// A caller without a deadline gets the server's; one with less time keeps its own.
func TestRequestsAreBounded(t *testing.T) {
	cfg := rpc.DefaultConfig()
	cfg.RequestTimeout = 50 * time.Millisecond
	left := make(chan time.Duration, 1)
	server := start(t, "127.0.0.1:0", cfg, telemetry.Discard(), func(ctx context.Context, _ *request) (*response, error) {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	_, err := client.ModelInfer(t.Context(), &request{})
	if got := failure.KindOf(failure.FromStatus(err, "the server")); got != failure.Deadline {
		t.Errorf("got %v, want the deadline", err)
	}
	if l := <-left; l > cfg.RequestTimeout {
		t.Errorf("the handler had %s, want %s at most", l, cfg.RequestTimeout)
	}
}

// A stream that a client holds open and sends nothing on does not keep the server
// from stopping; what the stream holds is answered first.
func TestStopEndsStreams(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	server := newServer("127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(_ context.Context, req *request) (*response, error) {
		close(begun)
		<-release
		return &response{Id: req.GetId()}, nil
	})
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.SetServing(true)
	client := dial(t, rpc.DefaultConfig(), server.Address())
	idle, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	busy, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Send(&request{Id: "7"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	begin := time.Now()
	stop(t, server)
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if resp, err := busy.Recv(); err != nil || resp.GetInferResponse().GetId() != "7" {
		t.Errorf("the stream that held a request got %v, %v", resp, err)
	}
	if _, err := idle.Recv(); err == nil {
		t.Error("the idle stream goes on")
	}
}
