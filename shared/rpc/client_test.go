package rpc_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// replicas are servers on 127.0.0.2 and up, behind one name.
func replicas(t *testing.T, scheme string, n int) (servers []*rpc.Server, counts []*atomic.Int64, target string) {
	t.Helper()
	state := resolver.State{}
	for i := range n {
		count := &atomic.Int64{}
		address := net.JoinHostPort("127.0.0."+string(rune('2'+i)), "0")
		server := start(t, address, rpc.DefaultConfig(), telemetry.Discard(), func(context.Context, *request) (*response, error) {
			count.Add(1)
			return &response{}, nil
		})
		servers, counts = append(servers, server), append(counts, count)
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: server.Address()}}})
	}
	names := manual.NewBuilderWithScheme(scheme)
	names.InitialState(state)
	resolver.Register(names)
	return servers, counts, scheme + ":///predictor"
}

// eventually asks again until it is so.
func eventually(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// RPC-03: each call is balanced by itself, over the replicas that serve.
func TestCallsAreBalanced(t *testing.T) {
	servers, counts, target := replicas(t, "balanced", 3)
	client := dial(t, target, rpc.DefaultConfig())
	call := func() bool {
		if _, err := client.ModelInfer(within(t, 10*time.Second), &request{}); err != nil {
			t.Error(err)
		}
		return counts[0].Load() > 0 && counts[1].Load() > 0 && counts[2].Load() > 0
	}
	eventually(t, 5*time.Second, "all replicas are used", call)
	reset := func() {
		for _, c := range counts {
			c.Store(0)
		}
	}
	reset()
	for range 300 {
		call()
	}
	for i, c := range counts {
		if n := c.Load(); n < 95 || n > 105 {
			t.Errorf("replica %d got %d of 300 calls, want about 100", i, n)
		}
	}

	servers[1].SetServing(false)
	eventually(t, 5*time.Second, "a replica that does not serve gets nothing", func() bool {
		reset()
		for range 30 {
			call()
		}
		return counts[1].Load() == 0 && counts[0].Load() > 0 && counts[2].Load() > 0
	})
	servers[1].SetServing(true)
	eventually(t, 5*time.Second, "it gets its share again", func() bool {
		call()
		return counts[1].Load() > 0
	})
}

func TestAServerThatDoesNotServe(t *testing.T) {
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), echo)
	server.SetServing(false)
	client := dial(t, server.Address(), rpc.DefaultConfig())
	begin := time.Now()
	if _, err := client.ModelInfer(within(t, 10*time.Second), &request{}); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %s to say so", took)
	}
	// It can still be asked and told things by its own address.
	conn, err := rpc.DialAddress(server.Address(), rpc.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := inference.NewGRPCInferenceServiceClient(conn).ModelInfer(within(t, 10*time.Second), &request{}); err != nil {
		t.Error(err)
	}
}

// A server that is down is an error of the call at once, and is found again
// soon after it is back.
func TestAServerGoesAndComesBack(t *testing.T) {
	address := freeAddress(t)
	client := dial(t, address, rpc.DefaultConfig())
	call := func() error {
		_, err := client.ModelInfer(within(t, 10*time.Second), &request{})
		return err
	}
	refused := func() {
		t.Helper()
		begin := time.Now()
		if err := call(); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v, want UNAVAILABLE", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %s to say so", took)
		}
	}
	refused()
	for range 2 {
		server := start(t, address, rpc.DefaultConfig(), telemetry.Discard(), echo)
		eventually(t, 3*time.Second, "the server is found", func() bool { return call() == nil })
		stop(t, server)
		for begin := time.Now(); time.Since(begin) < 4*time.Second; time.Sleep(200 * time.Millisecond) {
			refused() // long enough for the pauses between attempts to grow
		}
	}
}

func TestTargets(t *testing.T) {
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), echo)
	for _, target := range []string{server.Address(), "dns:///" + server.Address(), "passthrough:///" + server.Address()} {
		if _, err := dial(t, target, rpc.DefaultConfig()).ModelInfer(within(t, 10*time.Second), &request{}); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}
