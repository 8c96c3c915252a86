package rpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// A server that does not say that it serves can be asked and told things.
func TestAServerThatDoesNotServe(t *testing.T) {
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), echo)
	server.SetServing(false)
	client := dial(t, rpc.DefaultConfig(), server.Address())
	if _, err := client.ModelInfer(within(t, 10*time.Second), &request{}); err != nil {
		t.Error(err)
	}
}

// A server that is down is an error of the call at once, which was not sent, and
// is found again soon after it is back.
func TestAServerGoesAndComesBack(t *testing.T) {
	address := testkit.FreeAddress(t)
	client := dial(t, rpc.DefaultConfig(), address)
	call := func() error {
		_, err := client.ModelInfer(within(t, 10*time.Second), &request{})
		return err
	}
	refused := func() {
		t.Helper()
		begin := time.Now()
		if err := call(); status.Code(err) != codes.Unavailable || !rpc.Unsent(err) {
			t.Errorf("got %v, want UNAVAILABLE, not sent", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %s to say so", took)
		}
	}
	refused()
	for range 2 {
		server := start(t, address, rpc.DefaultConfig(), telemetry.Discard(), echo)
		testkit.Eventually(t, 3*time.Second, "the server is found", func() bool { return call() == nil })
		stop(t, server)
		for begin := time.Now(); time.Since(begin) < 4*time.Second; time.Sleep(200 * time.Millisecond) {
			refused() // long enough for the pauses between attempts to grow
		}
	}
}

// TestWhoseFault has every way in which a call can end without the server's own
// word: whose doing it was, and whether the server may have begun.
func TestWhoseFault(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cut    func(conn interface{ Close() error }, server *rpc.Server, cancel func())
		before bool // cut before the call, not while it runs
		kind   failure.Kind
		unsent bool
	}{
		"caller goes":         {cut: func(_ interface{ Close() error }, _ *rpc.Server, cancel func()) { cancel() }, kind: failure.Cancelled},
		"caller was gone":     {cut: func(_ interface{ Close() error }, _ *rpc.Server, cancel func()) { cancel() }, kind: failure.Cancelled, before: true, unsent: true},
		"we close":            {cut: func(conn interface{ Close() error }, _ *rpc.Server, _ func()) { _ = conn.Close() }, kind: failure.Unavailable},
		"we had closed":       {cut: func(conn interface{ Close() error }, _ *rpc.Server, _ func()) { _ = conn.Close() }, kind: failure.Unavailable, before: true, unsent: true},
		"server dies":         {cut: func(_ interface{ Close() error }, server *rpc.Server, _ func()) { server.Server.Stop() }, kind: failure.Unavailable},
		"its handler answers": {cut: func(interface{ Close() error }, *rpc.Server, func()) {}, kind: failure.Busy},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := make(chan struct{}, 1)
			server := newServer("127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(ctx context.Context, _ *request) (*response, error) {
				running <- struct{}{}
				if tt.kind == failure.Busy {
					return nil, failure.New(failure.Busy, "full")
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer server.Server.Stop()
			conn, err := rpc.Dial(server.Address(), rpc.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithCancel(within(t, 10*time.Second))
			defer cancel()
			if tt.before {
				tt.cut(conn, server, cancel)
			} else {
				go func() {
					<-running
					tt.cut(conn, server, cancel)
				}()
			}
			_, err = inference.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &request{})
			got := failure.FromStatus(err, "peer")
			if failure.KindOf(got) != tt.kind || rpc.Unsent(got) != tt.unsent || rpc.Unsent(err) != tt.unsent {
				t.Errorf("got %v of kind %s, unsent %t", got, failure.KindOf(got), rpc.Unsent(got))
			}
			if status.Code(err) != tt.kind.GRPCCode() {
				t.Errorf("the status is %s", status.Code(err))
			}
		})
	}
}
