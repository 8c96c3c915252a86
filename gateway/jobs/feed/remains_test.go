package feed_test

import (
	"sync/atomic"
	"testing"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// The pages of a job whose last verdicts came while nobody fed are dropped by the
// next who does: they would hold their room in the backlog as long as the job is kept.
func TestPagesOfAJobThatWasDecidedMeanwhile(t *testing.T) {
	store := newSystem(t).store()
	kept := blob(t, store, stream.Blobs, jobs.InputBlob("j", 7), []byte("image 7"))
	accept(t, store, "j", 20, func(_ *pb.Job, items []*pb.Item) { items[7].Input = &pb.Item_Blob{Blob: kept} })
	for item := range uint32(20) {
		if won, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: item, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}, 0); err != nil || !won {
			t.Fatal(won, err)
		}
	}
	newGateway(t, store, quick(), telemetry.Discard())
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 20})
	testkit.Eventually(t, soon, "its pages are dropped", func() bool { return len(pages(t, store, "j")) == 0 })
	if _, err := store.Connection().GetBlob(t.Context(), kept, 0); failure.KindOf(err) != failure.NotFound {
		t.Errorf("its blob: %v", err)
	}
}

// What a worker writes of a job that was deleted while it had a task of it goes after a
// while, and so does what was there before anybody fed.
func TestVerdictsOfNoJob(t *testing.T) {
	var ahead atomic.Int64
	cfg := quick()
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	cfg.Collect, cfg.Orphans = 100*time.Millisecond, time.Second
	store := newSystem(t).store()
	serve(t, store, &models{})
	bury := func(id string) {
		for item := range uint32(2) {
			if err := store.Bury(t.Context(), &pb.Verdict{Job: id, Item: item, Error: &pb.Error{Kind: "INTERNAL"}}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := func(id string) bool {
		_, _, verdict := store.Verdict(t.Context(), id, 0)
		_, letter := store.Dead(t.Context(), id, 1)
		return failure.KindOf(verdict) == failure.NotFound && failure.KindOf(letter) == failure.NotFound
	}
	bury("before")
	g := newGateway(t, store, cfg, telemetry.Discard())
	accept(t, store, "j", 5)
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 5})
	testkit.Eventually(t, soon, "those of before go", func() bool { return gone("before") })
	if _, _, err := store.Verdict(t.Context(), "j", 4); err != nil {
		t.Errorf("a verdict of a job that is there: %v", err)
	}
	ahead.Store(int64(25 * time.Hour))
	testkit.Eventually(t, soon, "the job is gone", func() bool {
		_, err := g.board.Job("j")
		return failure.KindOf(err) == failure.NotFound
	})
	bury("j")
	testkit.Eventually(t, soon, "what came late goes", func() bool { return gone("j") })
}

// What was left all the same, for the feeder died before it could drop it, is found.
func TestPagesOfAJobThatHasEnded(t *testing.T) {
	cfg := quick()
	cfg.Collect = 100 * time.Millisecond
	p := &poison{}
	store := newSystem(t).store()
	serve(t, store, &models{before: p.before})
	newGateway(t, store, cfg, telemetry.Discard())
	accept(t, store, "good", 5)
	accept(t, store, "dead", 20)
	counts(t, ended(t, store, "good"), &pb.Counts{Succeeded: 5})
	counts(t, ended(t, store, "dead"), &pb.Counts{Succeeded: 18, Dead: 2})
	for _, id := range []string{"good", "dead"} {
		ack, err := store.PutPage(id, 9, &pb.Page{Items: []*pb.Item{{Index: 4}}})
		if err != nil || jobs.Stored(t.Context(), ack) != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, soon, "the page is dropped", func() bool { return len(pages(t, store, "good")) == 0 })
	if len(pages(t, store, "dead")) != 2 {
		t.Error("the pages of a job with dead items are not kept")
	}
}
