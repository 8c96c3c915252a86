package rpc_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triptych/shared/capacity"
	"triptych/shared/failure"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// TestCapacityTravels with an answer and with a failure, when there is one.
func TestCapacityTravels(t *testing.T) {
	t.Parallel()
	full := capacity.Report{Slots: 2, Running: 2, Waiting: 7, Age: 1200 * time.Microsecond}
	server := start(t, "127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(ctx context.Context, req *request) (*response, error) {
		if req.GetModelName() != "silent" {
			if told := capacity.Of(ctx); told.Wants(req.GetModelName(), 1, time.Now()) {
				told.Tell(full)
			}
		}
		if req.GetModelName() == "busy" {
			return nil, failure.New(failure.Busy, "full")
		}
		return echo(ctx, req)
	})
	client := dial(t, rpc.DefaultConfig(), server.Address())
	for model, want := range map[string]capacity.Report{"fine": full, "busy": full, "silent": {}} {
		var trailer metadata.MD
		_, err := client.ModelInfer(within(t, 10*time.Second), &request{ModelName: model}, grpc.Trailer(&trailer))
		if (err != nil) != (model == "busy") {
			t.Errorf("%s: %v", model, err)
		}
		if got, told := rpc.Capacity(trailer); got != want || told != (model != "silent") {
			t.Errorf("%s: got %+v, %t", model, got, told)
		}
	}
}

// BenchmarkCapacity is what reports add to a hop of a small request, both ends: in
// each answer, and as often as they are wanted.
func BenchmarkCapacity(b *testing.B) {
	never := func(*capacity.Told) bool { return false }
	each := func(*capacity.Told) bool { return true }
	wanted := func(told *capacity.Told) bool { return told.Wants("a", 1, time.Now()) }
	for name, when := range map[string]func(*capacity.Told) bool{"never": never, "each": each, "wanted": wanted} {
		b.Run(name, func(b *testing.B) {
			server := newServer("127.0.0.1:0", rpc.DefaultConfig(), telemetry.Discard(), func(ctx context.Context, req *request) (*response, error) {
				if told := capacity.Of(ctx); when(told) {
					told.Tell(capacity.Report{Slots: 2, Running: 2, Waiting: rand.IntN(8), Age: time.Duration(rand.IntN(1e7))})
				}
				return echo(ctx, req)
			})
			if err := server.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			defer server.Stop(context.Background())
			client := benchClient(b, server.Address())
			b.ReportAllocs()
			for b.Loop() {
				var trailer metadata.MD
				if _, err := client.ModelInfer(b.Context(), &request{ModelName: "a"}, grpc.Trailer(&trailer)); err != nil {
					b.Fatal(err)
				}
				_, _ = rpc.Capacity(trailer)
			}
		})
	}
}
