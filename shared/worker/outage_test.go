package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// slow is a model that runs until it is released.
func slow(released <-chan struct{}) (infer, *atomic.Int32) {
	var runs atomic.Int32
	return func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		runs.Add(1)
		<-released
		return sum(ctx, req)
	}, &runs
}

// outage cuts the wire for longer than the ack wait of quick.
func (w *wire) outage() {
	w.set(true)
	time.Sleep(700 * time.Millisecond)
	w.set(false)
	w.reset()
}

// More outages than an item may have attempts, while it is being worked on: it is run
// once, by the worker that had it all the time, and none of them counts.
func TestOutagesAreNoAttempts(t *testing.T) {
	server := serverAt(t, t.TempDir(), "127.0.0.1:0")
	outside := natstest.Store(t, server, quick)
	wire := newWire(t, server.URL()[len("nats://"):])
	released := make(chan struct{})
	run, runs := slow(released)
	cfg := settings()
	cfg.Attempts = 2
	open(t, cfg, natstest.Store(t, server, quick, over(wire.Addr().String())), newModels(map[string]infer{"a": run}), telemetry.Discard())
	task := item(t, outside, chain(t, "a"), "j", 0, 1)
	begin(t, outside, task)
	testkit.Eventually(t, 10*time.Second, "the item runs", func() bool { return runs.Load() == 1 })
	for range 3 {
		before := excused(t, outside, task).GetExcused()
		wire.outage()
		testkit.Eventually(t, 10*time.Second, "the outage is excused", func() bool { return excused(t, outside, task).GetExcused() > before })
	}
	time.Sleep(time.Second) // it is known to be worked on: nobody gets it
	close(released)
	if v := gives(t, outside, "j", 0, 2); v.GetAttempts() != 0 || runs.Load() != 1 {
		t.Errorf("%d attempts and %d runs", v.GetAttempts(), runs.Load())
	}
	empty(t, outside, "a")
}

// excused is what is noted of the first message of a queue.
func excused(t *testing.T, store *jobs.Store, task *jobs.Task) *pb.Note {
	t.Helper()
	note, err := store.Note(t.Context(), task, 1)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

// Whoever gets a task whose worker was cut off does not count that once the other is
// back.
func TestOutageOfAnother(t *testing.T) {
	server := serverAt(t, t.TempDir(), "127.0.0.1:0")
	outside := natstest.Store(t, server, quick)
	wire := newWire(t, server.URL()[len("nats://"):])
	released := make(chan struct{})
	run, runs := slow(released)
	open(t, settings(), natstest.Store(t, server, quick, over(wire.Addr().String())), newModels(map[string]infer{"a": run}), telemetry.Discard())
	task := item(t, outside, chain(t, "a"), "j", 0, 1)
	begin(t, outside, task)
	testkit.Eventually(t, 10*time.Second, "the item runs", func() bool { return runs.Load() == 1 })
	wire.set(true)
	var attempts atomic.Int32
	other := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		attempts.Add(1)
		<-released
		return sum(ctx, req)
	}})
	open(t, settings(), outside, other, telemetry.Discard())
	testkit.Eventually(t, 10*time.Second, "another has the item", func() bool { return attempts.Load() == 1 })
	wire.set(false)
	wire.reset()
	testkit.Eventually(t, 10*time.Second, "the outage is excused", func() bool { return excused(t, outside, task).GetExcused() == 1 })
	close(released)
	gives(t, outside, "j", 0, 2)
}

// The worker goes by the ack wait that the consumers have, whatever its own settings
// say.
func TestAckWaitOfTheConsumers(t *testing.T) {
	server := natstest.Server(t)
	store := natstest.Store(t, server, quick)
	if err := store.Connection().EnsureModel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int32
	m := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		runs.Add(1)
		time.Sleep(1500 * time.Millisecond)
		return sum(ctx, req)
	}})
	follows := func(c *stream.Config) { c.Follow = true }
	open(t, settings(), natstest.Store(t, server, follows), m, telemetry.Discard())
	open(t, settings(), natstest.Store(t, server, follows), m, telemetry.Discard())
	begin(t, store, item(t, store, chain(t, "a"), "j", 0, 1))
	if v := gives(t, store, "j", 0, 2); v.GetAttempts() != 0 || runs.Load() != 1 {
		t.Errorf("%d attempts and %d runs", v.GetAttempts(), runs.Load())
	}
}
