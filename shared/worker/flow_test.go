package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// gauge counts what runs.
type gauge struct{ now, most, all atomic.Int32 }

func (g *gauge) in() {
	g.all.Add(1)
	for n := g.now.Add(1); ; {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (g *gauge) out() { g.now.Add(-1) }

// counted is a model of which a gauge knows how much runs, for so long.
func (g *gauge) counted(long time.Duration) infer {
	return func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		g.in()
		defer g.out()
		time.Sleep(long)
		return sum(ctx, req)
	}
}

// NAT-06: however many tasks wait, no more are fetched than are held where so many
// may run.
func TestNoMoreThanSlots(t *testing.T) {
	for name, slots := range map[string]int{"many slots": 16, "few": 3, "one": 1} {
		t.Run(name, func(t *testing.T) {
			var g gauge
			store := natstest.Store(t, natstest.Server(t))
			data := chain(t, "a")
			const items = 300
			for i := range uint32(items) {
				begin(t, store, item(t, store, data, "j", i, 1))
			}
			cfg := settings()
			cfg.Slots = slots
			open(t, cfg, store, newModels(map[string]infer{"a": g.counted(time.Millisecond)}), telemetry.Discard())
			for done := false; !done; {
				pending := 0
				for level := 1; level <= stream.Levels; level++ {
					c, err := store.Connection().JetStream().Consumer(t.Context(), stream.StepStream("a"), stream.StepConsumer(level))
					if err != nil {
						t.Fatal(err)
					}
					pending += c.CachedInfo().NumAckPending
				}
				// An acknowledgement may be on its way while the next task is: the server
				// takes requests and acknowledgements in by two goroutines of its own.
				if pending > 2*slots+16 {
					t.Fatalf("%d tasks are with a worker of %d slots", pending, slots)
				}
				done = left(t, store, stream.Verdicts) == items
			}
			if int(g.most.Load()) > slots || g.all.Load() != items {
				t.Errorf("%d at once, %d in all", g.most.Load(), g.all.Load())
			}
		})
	}
}

// A full next queue holds what can't be passed on, and no more is fetched. Nothing
// fails, and nothing runs twice but what had to be given back.
func TestFullNextQueue(t *testing.T) {
	var g gauge
	store := natstest.Store(t, natstest.Server(t), func(c *stream.Config) { c.Limits.StepMessages = 20 })
	m := newModels(map[string]infer{"a": g.counted(0)})
	open(t, settings(), store, m, telemetry.Discard())
	data := chain(t, "a", "b")
	const items = 60
	go func() {
		for i := range uint32(items) {
			for store.Begin(t.Context(), item(t, store, data, "j", i, 1)) != nil && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
	testkit.Eventually(t, 10*time.Second, "the queue of b is full", func() bool { return left(t, store, stream.StepStream("b")) == 20 })
	time.Sleep(3 * time.Second) // longer than a task is held
	if n := g.all.Load(); n > 20+4*16 {
		t.Errorf("%d tasks ran though only 20 could be passed on", n)
	}
	m.set("b", nil)
	for i := range uint32(items) {
		if v := gives(t, store, "j", i, 3); v.GetAttempts() != 0 {
			t.Errorf("item %d: %d attempts failed", i, v.GetAttempts())
		}
	}
	empty(t, store, "a", "b")
}

// NAT-07: a handler that breaks still gives its task back, so that good ones are
// not stuck behind it.
func TestBrokenHandlersDoNotStall(t *testing.T) {
	m := named()
	m.set("a", func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if resp, err := sum(ctx, req); err != nil || resp.GetRawOutputContents()[0][0] != poisonous {
			return resp, err
		}
		panic("neither acks nor naks")
	})
	cfg := settings()
	cfg.Slots, cfg.Delay = 4, 100*time.Millisecond
	store := natstest.Store(t, natstest.Server(t), quick)
	open(t, cfg, store, m, telemetry.Discard())
	data := chain(t, "a")
	for i := range uint32(10) {
		begin(t, store, item(t, store, data, "poison", i, poison))
	}
	begun := time.Now()
	for i := range uint32(10) {
		begin(t, store, item(t, store, data, "good", i, 1))
	}
	for i := range uint32(10) {
		gives(t, store, "good", i, 2)
	}
	t.Logf("the good ones took %s", time.Since(begun))
	for i := range uint32(10) {
		if v := verdict(t, store, "poison", i); v.GetOutcome() != pb.Outcome_OUTCOME_DEAD {
			t.Errorf("got %s", v.GetOutcome())
		}
	}
}

// Urgent tasks go first, and those of no level starve.
func TestLevels(t *testing.T) {
	for name, slots := range map[string]int{"one slot": 1, "many": 8} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var order []float32
			m := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
				resp, err := sum(ctx, req)
				mu.Lock()
				order = append(order, floats(resp)-1)
				mu.Unlock()
				time.Sleep(2 * time.Millisecond)
				return resp, err
			}})
			store := natstest.Store(t, natstest.Server(t))
			data := chain(t, "a")
			const each = 40
			for level := 3; level >= 1; level-- {
				ctx := call.With(t.Context(), call.Info{Priority: uint64(level)})
				for i := range uint32(each) {
					task := item(t, store, data, "j", uint32(level)*each+i, float32(level))
					if err := store.Begin(ctx, task); err != nil {
						t.Fatal(err)
					}
				}
			}
			cfg := settings()
			cfg.Slots = slots
			open(t, cfg, store, m, telemetry.Discard())
			testkit.Eventually(t, 20*time.Second, "all have run", func() bool { return left(t, store, stream.Verdicts) == 3*each })
			mu.Lock()
			defer mu.Unlock()
			counts := map[float32]int{}
			for i, level := range order {
				counts[level]++
				if i == each { // a third has run
					t.Logf("after a third: %v", counts)
					if counts[1] < each/2 || counts[2] == 0 || counts[3] == 0 {
						t.Errorf("after a third: %v", counts)
					}
				}
			}
		})
	}
}

// Models come and go; tasks of one that is gone wait for the next that serves it.
func TestModelsComeAndGo(t *testing.T) {
	m := named("a")
	store := setup(t, m)
	data := chain(t, "a", "b")
	begin(t, store, item(t, store, data, "j", 0, 1))
	testkit.Eventually(t, 10*time.Second, "a task waits for b", func() bool { return left(t, store, stream.StepStream("b")) == 1 })
	m.set("b", nil)
	gives(t, store, "j", 0, 3)
	m.remove("b")
	time.Sleep(time.Second)
	begin(t, store, item(t, store, data, "j", 1, 1))
	testkit.Eventually(t, 10*time.Second, "a task waits for b", func() bool { return left(t, store, stream.StepStream("b")) == 1 })
	time.Sleep(200 * time.Millisecond)
	if _, _, err := store.Verdict(t.Context(), "j", 1); failure.KindOf(err) != failure.NotFound {
		t.Errorf("a verdict of nobody: %v", err)
	}
	m.set("b", nil)
	gives(t, store, "j", 1, 3)
}

// At the end no more is taken, what is held is finished, and what can't be is given
// back at once.
func TestStop(t *testing.T) {
	server := natstest.Server(t)
	store := natstest.Store(t, server)
	var g gauge
	m := newModels(map[string]infer{"a": g.counted(300 * time.Millisecond), "b": func(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		<-ctx.Done()
		return nil, failure.OfContext(ctx)
	}})
	_, stop := open(t, settings(), natstest.Store(t, server), m, telemetry.Discard())
	quickly, hanging := chain(t, "a"), chain(t, "b")
	for i := range uint32(40) {
		begin(t, store, item(t, store, quickly, "a", i, 1))
	}
	for i := range uint32(3) {
		begin(t, store, item(t, store, hanging, "b", i, 1))
	}
	testkit.Eventually(t, 5*time.Second, "tasks are held", func() bool { return g.now.Load() > 4 })
	if err := stop(2 * time.Second); err != nil {
		t.Error(err)
	}
	ran := g.all.Load()
	if g.now.Load() != 0 || int(ran) >= 40 {
		t.Errorf("%d still run of %d", g.now.Load(), ran)
	}
	if n := left(t, store, stream.Verdicts); n != uint64(ran) {
		t.Errorf("%d verdicts of %d that ran", n, ran)
	}
	// The others get the rest at once, not after the ack wait of 30 s.
	begun := time.Now()
	open(t, settings(), store, named("a", "b"), telemetry.Discard())
	for i := range uint32(40) {
		gives(t, store, "a", i, 2)
	}
	for i := range uint32(3) {
		if v := gives(t, store, "b", i, 2); v.GetAttempts() != 0 {
			t.Errorf("the end of a process counts as %d attempts", v.GetAttempts())
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// A model that does not heed its context is left behind; its task is not.
func TestStopBesideADeafModel(t *testing.T) {
	server := natstest.Server(t)
	store := natstest.Store(t, server)
	let, begun := make(chan struct{}), make(chan struct{})
	m := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		close(begun)
		<-let
		return sum(ctx, req)
	}})
	_, stop := open(t, settings(), natstest.Store(t, server), m, telemetry.Discard())
	begin(t, store, item(t, store, chain(t, "a"), "j", 0, 1))
	<-begun
	if err := stop(time.Second); failure.KindOf(err) != failure.Deadline {
		t.Errorf("got %v", err)
	}
	open(t, settings(), store, named("a"), telemetry.Discard())
	gives(t, store, "j", 0, 2)
	close(let)
}
