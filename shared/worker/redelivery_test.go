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
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// NAT-01: work longer than the ack wait is done once, for the worker says that it
// works on it.
func TestSlowWorkIsNotDoneTwice(t *testing.T) {
	var runs atomic.Int32
	m := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		runs.Add(1)
		time.Sleep(1500 * time.Millisecond) // three times the ack wait
		return sum(ctx, req)
	}})
	server := natstest.Server(t)
	store := natstest.Store(t, server, quick)
	open(t, settings(), store, m, telemetry.Discard())
	open(t, settings(), natstest.Store(t, server, quick), m, telemetry.Discard())
	data := chain(t, "a")
	for i := range uint32(10) {
		begin(t, store, item(t, store, data, "j", i, float32(i)))
	}
	for i := range uint32(10) {
		gives(t, store, "j", i, float32(i)+1)
	}
	if runs.Load() != 10 {
		t.Errorf("%d runs of 10 items", runs.Load())
	}
}

// dying is a worker that can be made to die: its connection is cut, and what it
// holds never ends.
type dying struct{ store *jobs.Store }

func newDying(t *testing.T, server *embedded.Server, m *models) *dying {
	t.Helper()
	d := &dying{store: natstest.Store(t, server, quick)}
	_, stop := open(t, settings(), d.store, m, telemetry.Discard())
	t.Cleanup(func() {
		_ = stop(time.Second)
	})
	return d
}

// die is called by a model.
func (d *dying) die(ctx context.Context) (*inference.ModelInferResponse, error) {
	d.store.Connection().Close()
	<-ctx.Done()
	return nil, ctx.Err()
}

// A worker that dies with tasks in hand loses none: others get them after the ack
// wait, and run them one by one.
func TestWorkerDies(t *testing.T) {
	server := natstest.Server(t)
	store := natstest.Store(t, server, quick)
	m := named()
	first := newDying(t, server, m)
	var taken atomic.Int32
	m.set("a", func(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if taken.Add(1) == 8 {
			first.store.Connection().Close()
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	data := chain(t, "a")
	for i := range uint32(8) {
		begin(t, store, item(t, store, data, "j", i, float32(i)))
	}
	testkit.Eventually(t, 5*time.Second, "the worker is dead", func() bool { return taken.Load() == 8 })
	var beside, most atomic.Int32
	second := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if n := beside.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer beside.Add(-1)
		time.Sleep(5 * time.Millisecond)
		return sum(ctx, req)
	}})
	open(t, settings(), store, second, telemetry.Discard())
	for i := range uint32(8) {
		v := gives(t, store, "j", i, float32(i)+1)
		if v.GetAttempts() > 1 {
			t.Errorf("item %d: %d attempts that failed", i, v.GetAttempts())
		}
	}
	if most.Load() > 1 {
		t.Errorf("%d tasks ran beside each other that may have killed a worker", most.Load())
	}
	empty(t, store, "a")
}

// A poison item kills whoever runs it, so often, and is given up. Those that were
// taken with it are not.
func TestPoisonItem(t *testing.T) {
	server := natstest.Server(t)
	store := natstest.Store(t, server, quick)
	data := chain(t, "a")
	deaths := make(chan struct{}, 10)
	spawn := func() {
		m := named()
		d := newDying(t, server, m)
		m.set("a", func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			if resp, err := sum(ctx, req); err != nil || resp.GetRawOutputContents()[0][0] != poisonous {
				time.Sleep(20 * time.Millisecond)
				return resp, err
			}
			deaths <- struct{}{}
			return d.die(ctx)
		})
	}
	spawn()
	for i := range uint32(6) {
		value := float32(i)
		if i == 3 {
			value = poison
		}
		begin(t, store, item(t, store, data, "j", i, value))
	}
	killed := 0
	for alive := true; alive; {
		select {
		case <-deaths:
			killed++
			spawn()
		case <-time.After(4 * time.Second):
			alive = false
		}
	}
	for i := range uint32(6) {
		v := verdict(t, store, "j", i)
		want := pb.Outcome_OUTCOME_SUCCEEDED
		if i == 3 {
			want = pb.Outcome_OUTCOME_DEAD
		}
		if v.GetOutcome() != want {
			t.Errorf("item %d: %s after %d attempts, %v", i, v.GetOutcome(), v.GetAttempts(), v.GetError())
		}
		if i != 3 && v.GetAttempts() > 2 {
			t.Errorf("item %d suffered from the poison %d times", i, v.GetAttempts())
		}
	}
	if killed != settings().Attempts {
		t.Errorf("%d workers were killed, want %d", killed, settings().Attempts)
	}
	letter, err := store.Dead(t.Context(), "j", 3)
	if err != nil || letter.GetAttempts() != uint32(settings().Attempts) {
		t.Errorf("the letter: %v, %v", letter, err)
	}
}

// poison is a value of which the sum begins with a byte that no other has.
const (
	poison    = 3.7
	poisonous = 0x66
)

// A poison model fails on everything: the items are given up, the model's worker
// lives and serves other models.
func TestPoisonModel(t *testing.T) {
	m := named("b")
	m.set("a", func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		panic("poison")
	})
	cfg := settings()
	cfg.Attempts = 2
	store := natstest.Store(t, natstest.Server(t), quick)
	open(t, cfg, store, m, telemetry.Discard())
	bad, good := chain(t, "a"), chain(t, "b")
	for i := range uint32(10) {
		begin(t, store, item(t, store, bad, "bad", i, 1), item(t, store, good, "good", i, 1))
	}
	for i := range uint32(10) {
		gives(t, store, "good", i, 2)
		if v := verdict(t, store, "bad", i); v.GetOutcome() != pb.Outcome_OUTCOME_DEAD {
			t.Errorf("got %s", v.GetOutcome())
		}
	}
	empty(t, store, "a", "b")
	if n := left(t, store, stream.Dead); n != 10 {
		t.Errorf("%d letters", n)
	}
}
