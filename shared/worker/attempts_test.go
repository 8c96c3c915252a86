package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
	"triptych/shared/worker"
)

// failing fails so often, and then answers.
func failing(times int32, kind failure.Kind) (infer, *atomic.Int32) {
	var runs atomic.Int32
	return func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		if runs.Add(1) <= times {
			f := failure.New(kind, "trouble")
			f.RetryAfter = 10 * time.Millisecond
			return nil, f
		}
		return sum(ctx, req)
	}, &runs
}

// What a model's failure means for the item: the table of Kinds.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		times    int32
		kind     failure.Kind
		outcome  pb.Outcome
		attempts uint32
		runs     int32
	}{
		"busy does not count":        {12, failure.Busy, pb.Outcome_OUTCOME_SUCCEEDED, 0, 13},
		"unavailable does not count": {12, failure.Unavailable, pb.Outcome_OUTCOME_SUCCEEDED, 0, 13},
		"internal passes":            {2, failure.Internal, pb.Outcome_OUTCOME_SUCCEEDED, 2, 3},
		"internal stays":             {99, failure.Internal, pb.Outcome_OUTCOME_DEAD, 3, 3},
		"a broken image":             {99, failure.BrokenImage, pb.Outcome_OUTCOME_FAILED, 0, 1},
		"an invalid request":         {99, failure.Invalid, pb.Outcome_OUTCOME_FAILED, 0, 1},
		"an unknown version":         {99, failure.NotFound, pb.Outcome_OUTCOME_FAILED, 0, 1},
		"a model that is late":       {99, failure.Deadline, pb.Outcome_OUTCOME_DEAD, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			run, runs := failing(c.times, c.kind)
			store := natstest.Store(t, natstest.Server(t))
			cfg := settings()
			cfg.Attempts, cfg.Delay = 3, time.Millisecond
			open(t, cfg, store, newModels(map[string]infer{"a": run}), telemetry.Discard())
			begin(t, store, item(t, store, chain(t, "a"), "j", 0, 10))
			v := verdict(t, store, "j", 0)
			if v.GetOutcome() != c.outcome || v.GetAttempts() != c.attempts || runs.Load() != c.runs {
				t.Errorf("%s after %d attempts and %d runs: %v", v.GetOutcome(), v.GetAttempts(), runs.Load(), v.GetError())
			}
			empty(t, store, "a")
			letter, err := store.Dead(t.Context(), "j", 0)
			if c.outcome == pb.Outcome_OUTCOME_DEAD {
				if err != nil || letter.GetStep() != "a" || letter.GetError().GetMessage() != "trouble" || letter.GetAttempts() != 3 {
					t.Errorf("the letter: %v, %v", letter, err)
				}
				return
			}
			if failure.KindOf(err) != failure.NotFound {
				t.Errorf("a letter of an item that is not dead: %v, %v", letter, err)
			}
		})
	}
}

// A dead item that was put back runs again from its first attempt, and its new
// verdict replaces the mark.
func TestRequeued(t *testing.T) {
	m := named()
	run, _ := failing(2, failure.Internal)
	m.set("a", run)
	store := natstest.Store(t, natstest.Server(t))
	cfg := settings()
	cfg.Attempts = 2
	open(t, cfg, store, m, telemetry.Discard())
	task := item(t, store, chain(t, "a"), "j", 0, 10)
	begin(t, store, task)
	if v := verdict(t, store, "j", 0); v.GetOutcome() != pb.Outcome_OUTCOME_DEAD {
		t.Fatalf("got %s", v.GetOutcome())
	}
	testkit.Eventually(t, 5*time.Second, "the letter is there", func() bool { _, err := store.Dead(t.Context(), "j", 0); return err == nil })
	if err := store.Requeue(t.Context(), "j", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Dead(t.Context(), "j", 0); failure.KindOf(err) != failure.NotFound {
		t.Errorf("the letter of an item that was put back: %v", err)
	}
	mark, fence, err := store.Verdict(t.Context(), "j", 0)
	if err != nil || mark.GetOutcome() != pb.Outcome_OUTCOME_REQUEUED {
		t.Fatalf("got %v, %v", mark, err)
	}
	task.Fence, task.Attempt = fence, 2
	begin(t, store, task)
	testkit.Eventually(t, 10*time.Second, "the item succeeds", func() bool {
		v, _, err := store.Verdict(t.Context(), "j", 0)
		return err == nil && v.GetOutcome() == pb.Outcome_OUTCOME_SUCCEEDED && v.GetStarted() == 2
	})
	if err := store.Requeue(t.Context(), "j", 0); failure.KindOf(err) != failure.Conflict {
		t.Errorf("an item that succeeded can be put back: %v", err)
	}
}

// A message that is no task: whose it is, its subject says.
func TestUnreadable(t *testing.T) {
	store := setup(t, named("a"), quick)
	if err := store.Connection().EnsureModel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	js := store.Connection().JetStream()
	for subject, data := range map[string]string{
		stream.StepSubject("a", 2, "j", 7, 0): "\xff\xff\xff",
		stream.StepSubject("a", 2, "j", 8, 0): "",
		"triptych.step.a.2.what.is.this.now":  "nothing",
	} {
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: []byte(data)}, jetstream.WithExpectStream(stream.StepStream("a"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, index := range []uint32{7, 8} {
		v := verdict(t, store, "j", index)
		if v.GetOutcome() != pb.Outcome_OUTCOME_DEAD || v.GetStep() != "a" || v.GetError().GetKind() != failure.Internal.String() {
			t.Errorf("got %v", v)
		}
		// The letter follows the verdict.
		testkit.Eventually(t, 10*time.Second, "the letter is there", func() bool { _, err := store.Dead(t.Context(), "j", index); return err == nil })
	}
	empty(t, store, "a")
}

// Deadlines are by the wall clock, which may jump.
func TestDeadline(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	m := named("b")
	m.set("a", func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		ahead.Store(int64(time.Hour)) // the clock jumps while the first step runs
		return sum(ctx, req)
	})
	store := natstest.Store(t, natstest.Server(t))
	open(t, settings(), store, m, telemetry.Discard(), worker.WithClock(clock))
	begin(t, store, item(t, store, chain(t, "a", "b"), "j", 0, 10))
	if v := verdict(t, store, "j", 0); v.GetOutcome() != pb.Outcome_OUTCOME_EXPIRED || v.GetStep() != "b" {
		t.Errorf("got %s at %q", v.GetOutcome(), v.GetStep())
	}
	// One that ends while the model runs.
	ahead.Store(0)
	m.set("a", func(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		<-ctx.Done()
		return nil, failure.OfContext(ctx)
	})
	late := item(t, store, chain(t, "a", "b"), "j", 1, 10)
	late.Deadline = time.Now().Add(300 * time.Millisecond)
	begin(t, store, late)
	if v := verdict(t, store, "j", 1); v.GetOutcome() != pb.Outcome_OUTCOME_EXPIRED || v.GetStep() != "a" {
		t.Errorf("got %s at %q", v.GetOutcome(), v.GetStep())
	}
}

// Tasks of a job that was cancelled are not run.
func TestCancelled(t *testing.T) {
	var runs atomic.Int32
	m := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		runs.Add(1)
		return sum(ctx, req)
	}})
	store := setup(t, m)
	if err := store.Create(t.Context(), &pb.Job{Id: "j", State: pb.State_STATE_ACCEPTED, Items: 2}); err != nil {
		t.Fatal(err)
	}
	data := chain(t, "a")
	begin(t, store, item(t, store, data, "j", 0, 10))
	gives(t, store, "j", 0, 11)
	if _, err := store.Update(t.Context(), "j", func(j *pb.Job) error { j.State = pb.State_STATE_CANCELLING; return nil }); err != nil {
		t.Fatal(err)
	}
	next := uint32(1)
	testkit.Eventually(t, 10*time.Second, "the worker knows: a task that is quicker runs", func() bool {
		begin(t, store, item(t, store, data, "j", next, 10))
		v := verdict(t, store, "j", next)
		next++
		return v.GetOutcome() == pb.Outcome_OUTCOME_CANCELLED
	})
	before := runs.Load()
	begin(t, store, item(t, store, data, "j", next, 10))
	if v := verdict(t, store, "j", next); v.GetOutcome() != pb.Outcome_OUTCOME_CANCELLED || runs.Load() != before {
		t.Errorf("got %s after %d runs", v.GetOutcome(), runs.Load()-before)
	}
}

// Parts of joins that fill their stream do not make items be given up: what need not
// count is kept elsewhere, and no task is held for longer than a task may be.
func TestFullNotes(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	js := store.Connection().JetStream()
	for _, name := range []string{stream.Notes, stream.Naks} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		limited := s.CachedInfo().Config
		limited.MaxBytes = 1 << 10
		if _, err := js.UpdateStream(t.Context(), limited); err != nil {
			t.Fatal(err)
		}
	}
	fill := &nats.Msg{Subject: stream.JoinSubject("other", 0, 1, 1, 0), Data: make([]byte, 900)}
	if _, err := js.PublishMsg(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	run, runs := failing(8, failure.Busy)
	cfg := settings()
	cfg.Delay = time.Millisecond
	open(t, cfg, store, newModels(map[string]infer{"a": run}), telemetry.Discard())
	begin(t, store, item(t, store, chain(t, "a"), "j", 0, 10))
	if v := gives(t, store, "j", 0, 11); v.GetAttempts() != 0 || runs.Load() != 9 {
		t.Errorf("%d attempts and %d runs", v.GetAttempts(), runs.Load())
	}
}

// A note that can't be stored is given up in the end: the task is given back, and
// others are taken.
func TestNoNotes(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	js := store.Connection().JetStream()
	s, err := js.Stream(t.Context(), stream.Naks)
	if err != nil {
		t.Fatal(err)
	}
	limited := s.CachedInfo().Config
	limited.MaxBytes, limited.Discard = 1, jetstream.DiscardNew
	if _, err := js.UpdateStream(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	run, runs := failing(1, failure.Busy)
	cfg := settings()
	cfg.Hold = 100 * time.Millisecond
	open(t, cfg, store, newModels(map[string]infer{"a": run}), telemetry.Discard())
	begin(t, store, item(t, store, chain(t, "a"), "j", 0, 10))
	gives(t, store, "j", 0, 11)
	if runs.Load() != 2 {
		t.Errorf("%d runs", runs.Load())
	}
}

// A verdict that can't be stored is not lost: the task is held, and given back, and
// comes again until it can.
func TestFullVerdicts(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	verdicts, err := store.Connection().JetStream().Stream(t.Context(), stream.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	limited := verdicts.CachedInfo().Config
	limited.MaxBytes = 1
	if _, err := store.Connection().JetStream().UpdateStream(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	cfg := settings()
	cfg.Hold = 100 * time.Millisecond
	open(t, cfg, store, named("a"), telemetry.Discard())
	begin(t, store, item(t, store, chain(t, "a"), "j", 0, 10))
	time.Sleep(time.Second)
	limited.MaxBytes = 1 << 20
	if _, err := store.Connection().JetStream().UpdateStream(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	gives(t, store, "j", 0, 11)
	empty(t, store, "a")
}
