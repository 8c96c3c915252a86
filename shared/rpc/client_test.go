package rpc_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// replicas are servers on 127.0.0.2 and up.
func replicas(t *testing.T, n int) (servers []*rpc.Server, counts []*atomic.Int64, addresses []string) {
	t.Helper()
	for i := range n {
		count := &atomic.Int64{}
		address := net.JoinHostPort("127.0.0."+string(rune('2'+i)), "0")
		server := start(t, address, rpc.DefaultConfig(), telemetry.Discard(), func(context.Context, *request) (*response, error) {
			count.Add(1)
			return &response{}, nil
		})
		servers, counts = append(servers, server), append(counts, count)
		addresses = append(addresses, server.Address())
	}
	return servers, counts, addresses
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
	servers, counts, addresses := replicas(t, 3)
	client := dial(t, rpc.DefaultConfig(), addresses...)
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
	client := dial(t, rpc.DefaultConfig(), server.Address())
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
	client := dial(t, rpc.DefaultConfig(), address)
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

// A replica on a new address gets its share as soon as the address is known; one
// that is gone gets nothing; without any, a call fails at once.
func TestAddressesChange(t *testing.T) {
	_, counts, addresses := replicas(t, 2)
	conn, err := rpc.DialReplicas(rpc.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := inference.NewGRPCInferenceServiceClient(conn)
	call := func() error {
		_, err := client.ModelInfer(within(t, 10*time.Second), &request{})
		return err
	}
	refused := func() {
		t.Helper()
		begin := time.Now()
		if err := call(); status.Code(err) != codes.Unavailable || time.Since(begin) > time.Second {
			t.Errorf("without addresses: %v after %s, want UNAVAILABLE at once", err, time.Since(begin))
		}
	}
	refused()
	conn.SetAddresses(addresses[0])
	eventually(t, 3*time.Second, "the first replica answers", func() bool { return call() == nil })
	conn.SetAddresses(addresses...)
	eventually(t, 3*time.Second, "the second gets calls too", func() bool {
		if err := call(); err != nil {
			t.Error(err)
		}
		return counts[1].Load() > 0
	})
	conn.SetAddresses(addresses[1])
	eventually(t, 3*time.Second, "the first gets none any more", func() bool {
		before := counts[0].Load()
		for range 10 {
			if err := call(); err != nil {
				t.Error(err)
			}
		}
		return counts[0].Load() == before
	})
	conn.SetAddresses()
	refused()
}
