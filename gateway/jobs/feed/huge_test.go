package feed_test

import (
	"testing"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// A job of many items is cancelled at once: none is run any more, and each gets its
// verdict as fast as the disk takes them, without memory that grows with the job.
func TestCancelHuge(t *testing.T) {
	const items = 20_000
	store := newSystem(t).store()
	m := serve(t, store, &models{before: slowly(20 * time.Millisecond)})
	g := newGateway(t, store, quick(), telemetry.Discard())
	accept(t, store, "huge", items)
	decided(t, g.board, "huge", 200)
	before := testkit.Resident(t)
	testkit.ResetPeak(t)
	begin := time.Now()
	if _, err := store.Update(t.Context(), "huge", func(j *pb.Job) error { j.State = pb.State_STATE_CANCELLING; return nil }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	ran := m.ran.Load()
	time.Sleep(time.Second)
	if more := m.ran.Load() - ran; more > 0 {
		t.Errorf("%d tasks of a cancelled job were run", more)
	}
	testkit.Eventually(t, 10*soon, "the job is cancelled", func() bool {
		s, err := g.board.Job("huge")
		return err == nil && s.Record.GetState() == pb.State_STATE_CANCELLED
	})
	more := (testkit.Peak(t) - before) >> 20
	t.Logf("%d items are cancelled in %s, with %d MiB more at the most", items, time.Since(begin), more)
	if more > 128 {
		t.Errorf("it takes %d MiB, with the server's", more)
	}
	job := ended(t, store, "huge")
	if c := job.GetCounts(); c.GetSucceeded()+c.GetCancelled() != items || c.GetCancelled() < items*9/10 {
		t.Errorf("got %v", c)
	}
}
