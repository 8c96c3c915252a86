package feed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triptych/gateway/jobs/board"
	"triptych/gateway/jobs/feed"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// poison fails for ever for some items, until it is cured.
type poison struct{ cured atomic.Bool }

func (p *poison) before(_ context.Context, req *inference.ModelInferRequest) error {
	in, _ := oip.Input(req, "IN")
	if !p.cured.Load() && strings.HasSuffix(string(in.Data), "7") {
		return errors.New("the model broke")
	}
	return nil
}

// Dead items keep their page, are put back, and run again; the job that had ended
// is opened, and ends again.
func TestRequeue(t *testing.T) {
	store := newSystem(t).store()
	p := &poison{}
	serve(t, store, &models{before: p.before})
	g := newGateway(t, store, quick(), telemetry.Discard())
	accept(t, store, "j", 100)
	job := ended(t, store, "j")
	counts(t, job, &pb.Counts{Succeeded: 90, Dead: 10})
	if n := len(pages(t, store, "j")); n != 2 {
		t.Errorf("%d pages are kept", n)
	}
	if _, err := store.Dead(t.Context(), "j", 17); err != nil {
		t.Error(err)
	}
	p.cured.Store(true)
	// The first is put back as the API does it, the second without opening the job:
	// the two may cross.
	if _, err := store.Update(t.Context(), "j", func(j *pb.Job) error {
		j.State, j.Reopened, j.EndedMs = pb.State_STATE_ACCEPTED, true, 0
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Requeue(t.Context(), "j", 7); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, soon, "the job ends again", func() bool {
		s, err := g.board.Job("j")
		return err == nil && s.Record.GetEndedMs() > 0 && s.Counts.GetSucceeded() == 91
	})
	if err := store.Requeue(t.Context(), "j", 57); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, soon, "the job ends again", func() bool {
		s, err := g.board.Job("j")
		return err == nil && s.Record.GetEndedMs() > 0 && s.Counts.GetSucceeded() == 92
	})
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 92, Dead: 8})
	if v := verdict(t, store, "j", 57); v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED {
		t.Errorf("got %v", v)
	}
}

// Items that are put back while their job runs are run again too.
func TestRequeueMeanwhile(t *testing.T) {
	store := newSystem(t).store()
	p := &poison{}
	serve(t, store, &models{before: func(ctx context.Context, req *inference.ModelInferRequest) error {
		time.Sleep(5 * time.Millisecond) // a model that takes its time
		return p.before(ctx, req)
	}})
	cfg := quick()
	cfg.LostAfter = 3 * time.Second // a busy machine stands still for longer than one
	newGateway(t, store, cfg, telemetry.Discard())
	accept(t, store, "j", 1000)
	testkit.Eventually(t, soon, "an item is dead", func() bool { _, err := store.Dead(t.Context(), "j", 7); return err == nil })
	p.cured.Store(true)
	if err := store.Requeue(t.Context(), "j", 7); err != nil {
		t.Fatal(err)
	}
	job := ended(t, store, "j")
	if v := verdict(t, store, "j", 7); v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED || job.GetCounts().GetSucceeded()+job.GetCounts().GetDead() != 1000 {
		t.Errorf("%s (%s), %v", v.GetOutcome(), v, job.GetCounts())
	}
}

// hold is a leader that only hears of a job of two items, and hears, which waits until
// it has taken an event of an outcome.
func hold(t *testing.T, store *jobs.Store) (held *feed.Held, hears func(outcome pb.Outcome, err error)) {
	t.Helper()
	b := follow(t, store)
	accept(t, store, "j", 2)
	testkit.Eventually(t, soon, "the job is seen", func() bool { _, err := b.Job("j"); return err == nil })
	held, err := feed.New(quick(), store, b, telemetry.Discard()).Hold(t.Context(), "j")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Stop)
	return held, func(outcome pb.Outcome, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.After(soon); ; {
			select {
			case event := <-held.Events:
				if event.Outcome == outcome {
					return
				}
			case <-deadline:
				t.Fatalf("%s is not heard", outcome)
			}
		}
	}
}

// A page of which all other items are decided is kept for one that was put back, also
// before it is read again.
func TestPageOfRequeued(t *testing.T) {
	store := newSystem(t).store()
	held, hears := hold(t, store)
	hears(pb.Outcome_OUTCOME_DEAD, store.Bury(t.Context(), &pb.Verdict{Job: "j", Started: 1}, 0))
	hears(pb.Outcome_OUTCOME_REQUEUED, store.Requeue(t.Context(), "j", 0))
	_, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: 1, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}, 0)
	hears(pb.Outcome_OUTCOME_SUCCEEDED, err)
	held.Stop() // what it began to delete is gone now
	if n := len(pages(t, store, "j")); n != 1 {
		t.Errorf("%d pages are left for the item that was put back", n)
	}
}

// A page that is read when its job has just ended is kept for its dead items: the board
// no longer knows which they are.
func TestPageOfAnEndedJob(t *testing.T) {
	store := newSystem(t).store()
	held, hears := hold(t, store)
	hears(pb.Outcome_OUTCOME_DEAD, store.Bury(t.Context(), &pb.Verdict{Job: "j", Started: 1}, 0))
	_, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: 1, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}, 0)
	hears(pb.Outcome_OUTCOME_SUCCEEDED, err)
	_, err = store.Update(t.Context(), "j", func(j *pb.Job) error {
		j.State, j.EndedMs, j.Counts, j.VerdictsAfter = pb.State_STATE_DONE, time.Now().UnixMilli(), &pb.Counts{Succeeded: 1, Dead: 1}, 1<<40
		return nil
	})
	hears(pb.Outcome_OUTCOME_UNSPECIFIED, err)
	if err := held.Read(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	held.Stop()
	if n := len(pages(t, store, "j")); n != 1 {
		t.Errorf("%d pages are left for the dead item", n)
	}
}

// An item is put back at the moment in which its job ends: whoever ended the job had
// counted the items before, and does not know. The board hears of the two in either
// order, and whoever feeds next finds out.
func TestRequeueCrossesEnd(t *testing.T) {
	for name, markFirst := range map[string]bool{"the mark is seen first": true, "the end is seen first": false} {
		t.Run(name, func(t *testing.T) {
			store := newSystem(t).store()
			serve(t, store, &models{})
			b, lead := follower(t, store)
			accept(t, store, "j", 2)
			if err := store.Bury(t.Context(), &pb.Verdict{Job: "j", Started: 1}, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: 1, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}, 0); err != nil {
				t.Fatal(err)
			}
			var counted *board.Snapshot
			testkit.Eventually(t, soon, "both are counted", func() bool {
				s, err := b.Job("j")
				counted = s
				return err == nil && s.Undecided() == 0
			})
			mark := func() {
				if err := store.Requeue(t.Context(), "j", 0); err != nil {
					t.Fatal(err)
				}
				testkit.Eventually(t, soon, "the mark is seen", func() bool {
					s, err := b.Job("j")
					return err == nil && s.Sequence > counted.Sequence
				})
			}
			if markFirst {
				mark()
			}
			if _, err := store.Update(t.Context(), "j", func(j *pb.Job) error {
				j.State, j.EndedMs, j.Counts, j.VerdictsAfter = pb.State_STATE_DONE, time.Now().UnixMilli(), counted.Counts, counted.Sequence
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, soon, "the end is seen", func() bool {
				s, err := b.Job("j")
				return err == nil && !board.Open(s.Record)
			})
			if !markFirst {
				mark()
			}
			lead()
			testkit.Eventually(t, soon, "the item has run and the job has ended", func() bool {
				j, err := store.Job(t.Context(), "j")
				return err == nil && !board.Open(j) && j.GetCounts().GetSucceeded() == 2
			})
			counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 2})
		})
	}
}

// An item that was put back while its job ended is run even if all gateways were gone
// before one of them saw both.
func TestRequeueCrossesEndUnseen(t *testing.T) {
	store := newSystem(t).store()
	p := &poison{}
	serve(t, store, &models{before: p.before})
	first := newGateway(t, store, quick(), telemetry.Discard())
	accept(t, store, "j", 10)
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 9, Dead: 1})
	first.end()
	p.cured.Store(true)
	if err := store.Requeue(t.Context(), "j", 7); err != nil {
		t.Fatal(err)
	}
	newGateway(t, store, quick(), telemetry.Discard())
	testkit.Eventually(t, soon, "the item has run and the job has ended", func() bool {
		j, err := store.Job(t.Context(), "j")
		return err == nil && !board.Open(j) && j.GetCounts().GetSucceeded() == 10
	})
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 10})
}

// follow runs a board until the test ends.
func follow(t *testing.T, store *jobs.Store) *board.Board {
	t.Helper()
	b := board.New(store, telemetry.Discard().Logger)
	until(t, b.Run)
	return b
}

// until runs something until the test ends.
func until(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// follower is a board, and what makes its gateway feed.
func follower(t *testing.T, store *jobs.Store) (b *board.Board, lead func()) {
	t.Helper()
	b = follow(t, store)
	feeder := feed.New(quick(), store, b, telemetry.Discard())
	return b, func() { until(t, func(ctx context.Context) { feeder.Lead(ctx, 1) }) }
}
