package feed_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/gateway/jobs/board"
	"triptych/gateway/jobs/feed"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// all tells that a job ended with so many successes and that no verdict was ever
// written over: the stream has given as many sequences as there are items.
func all(t *testing.T, store *jobs.Store, id string, items uint32) {
	t.Helper()
	job := ended(t, store, id)
	if diff := cmp.Diff(&pb.Counts{Succeeded: items}, job.GetCounts(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	verdicts, err := store.Connection().JetStream().Stream(t.Context(), stream.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	if state := verdicts.CachedInfo().State; state.LastSeq != uint64(items) || state.Msgs != uint64(items) {
		t.Errorf("%d verdicts, the last of them the %dth ever", state.Msgs, state.LastSeq)
	}
}

// decided waits until a job has so many verdicts.
func decided(t *testing.T, b *board.Board, id string, items uint32) {
	t.Helper()
	testkit.Eventually(t, soon, "some items are decided", func() bool {
		s, err := b.Job(id)
		return err == nil && s.Decided() >= items
	})
}

func slowly(d time.Duration) func(context.Context, *inference.ModelInferRequest) error {
	return func(context.Context, *inference.ModelInferRequest) error {
		time.Sleep(d) // a model that takes its time
		return nil
	}
}

// Two that both believe to lead do no harm.
func TestTwoFeeders(t *testing.T) {
	s := newSystem(t)
	serve(t, s.store(), &models{})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for epoch := range uint32(2) {
		store := s.store()
		b := board.New(store, telemetry.Discard().Logger)
		f := feed.New(quick(), store, b, telemetry.Discard())
		running.Go(func() { b.Run(ctx) })
		running.Go(func() { f.Lead(ctx, epoch+1) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	store := s.store()
	accept(t, store, "j", 500)
	all(t, store, "j", 500)
}

// A leader that is gone without a word is followed by another, who runs nothing
// twice that is on its way.
func TestLeaderDies(t *testing.T) {
	s := newSystem(t)
	m := serve(t, s.store(), &models{before: slowly(5 * time.Millisecond)})
	first := newGateway(t, s.store(), quick(), telemetry.Discard())
	store := s.store()
	accept(t, store, "j", 1000)
	decided(t, first.board, "j", 100)
	second := newGateway(t, s.store(), quick(), telemetry.Discard())
	first.store.Connection().Close()
	testkit.Eventually(t, soon, "the second leads", second.feeder.Leading)
	testkit.Eventually(t, soon, "the first does not", func() bool { return !first.feeder.Leading() })
	all(t, store, "j", 1000)
	if ran := m.ran.Load(); ran > 3000 {
		t.Errorf("%d runs for 1000 items of three steps", ran)
	}
}

// A leader that ends in good order is followed at once.
func TestLeaderLeaves(t *testing.T) {
	s := newSystem(t)
	cfg := quick()
	cfg.Takeover = 20 * time.Second
	m := serve(t, s.store(), &models{before: slowly(5 * time.Millisecond)})
	first := newGateway(t, s.store(), cfg, telemetry.Discard())
	store := s.store()
	accept(t, store, "j", 1000)
	decided(t, first.board, "j", 100)
	second := newGateway(t, s.store(), cfg, telemetry.Discard())
	begin := time.Now()
	first.end()
	testkit.Eventually(t, soon, "the second leads", second.feeder.Leading)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the second leads after %s", took)
	}
	all(t, store, "j", 1000)
	if ran := m.ran.Load(); ran > 3000 {
		t.Errorf("%d runs for 1000 items of three steps", ran)
	}
}

// All that is on its way is lost: it is started again.
func TestQueuesAreLost(t *testing.T) {
	s := newSystem(t)
	store := s.store()
	newGateway(t, store, quick(), telemetry.Discard())
	serve(t, s.store(), &models{names: []string{"a"}}) // nothing gets beyond the first step
	accept(t, store, "j", 400)
	js := store.Connection().JetStream()
	testkit.Eventually(t, soon, "the credit is used", func() bool {
		queue, err := js.Stream(t.Context(), stream.StepStream("b"))
		return err == nil && queue.CachedInfo().State.Msgs == 224 // the rest is left to more urgent jobs
	})
	if err := js.DeleteStream(t.Context(), stream.StepStream("b")); err != nil {
		t.Fatal(err)
	}
	serve(t, s.store(), &models{names: []string{"b", "c"}})
	all(t, store, "j", 400)
}

// The server goes away and comes back, with what it has on its disk.
func TestServerRestarts(t *testing.T) {
	s := newSystem(t)
	var steps atomic.Int64
	serve(t, s.store(), &models{before: func(context.Context, *inference.ModelInferRequest) error {
		steps.Add(1)
		time.Sleep(5 * time.Millisecond) // a model that takes its time
		return nil
	}})
	store := s.store()
	newGateway(t, s.store(), quick(), telemetry.Discard())
	newGateway(t, s.store(), quick(), telemetry.Discard())
	accept(t, store, "j", 1500)
	for round := range int64(3) {
		testkit.Eventually(t, soon, "some items are on their way", func() bool { return steps.Load() > 500*(round+1) })
		s.stop()
		s.start()
	}
	all(t, store, "j", 1500)
}
