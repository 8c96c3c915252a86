//go:build chaos

package chaos_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"triptych/cli/chaos/ledger"
	"triptych/cli/chaos/spots"
	"triptych/cli/chaos/stack"
	pb "triptych/proto/jobs"
	"triptych/shared/testkit"
)

// apart is how long a partition lasts: longer than any ack wait, and than the
// connection takes to notice.
const apart = 20 * time.Second

// partition cuts a worker off from NATS, and then the gateway: no byte passes, no
// connection ends. Sync requests are answered all the while.
func partition(t *testing.T, r *run) {
	h := open(t, r, stack.Options{})
	l := h.begin(t, spots.Slow)
	for _, service := range []*stack.Service{h.Workers["predictor"], h.gateway()} {
		h.progress(t, jobItems)
		service.NATS.Cut()
		r.killed()
		for begin := time.Now(); time.Since(begin) < apart; time.Sleep(time.Second) {
			syncRoad(t, h.gateway())
		}
		service.NATS.Mend()
		h.progress(t, jobItems)
	}
	l.end()
	h.close(t)
}

// slowWorker stops one of two predictors for longer than its tasks may wait: the
// other does them, and the first finds them done when it goes on.
func slowWorker(t *testing.T, r *run) {
	h := open(t, r, stack.Options{Repositories: []string{testkit.Path(t, "models")}})
	slow := h.Workers["predictor"]
	items := photographs(t, h.gateway())
	h.Add("predictor")
	l := h.begin(t, spots.Slow)
	for range 2 {
		h.progress(t, 5)
		id := h.deliver(t, ledger.Job{Model: "classify", Items: slices.Repeat(items, 8)})
		slow.Signal(syscall.SIGSTOP)
		r.killed()
		time.Sleep(8 * time.Second)
		h.progress(t, 5)
		slow.Signal(syscall.SIGCONT)
		h.ledger.AwaitOne(t.Context(), id)
	}
	l.end()
	h.close(t)
}

// poison sends an image with which the predictor hangs: the probe finds that it no
// longer lives and it is killed, each time. The image is given up; its neighbours,
// in whose batch it was, are not. A model that fails and one that hangs each time
// hold up nobody else either.
func poison(t *testing.T, r *run) {
	h := open(t, r, stack.Options{
		Flags:   []string{"--jobs-attempts", "3"},
		FlagsOf: map[string][]string{"predictor": {"--stall-timeout", "1s"}},
	})
	stop := stack.Kubelet(h.Workers["predictor"])
	defer stop()
	dead := func(items []ledger.Item) []ledger.Item {
		for i := range items {
			items[i].Want = pb.Outcome_OUTCOME_DEAD
		}
		return items
	}
	items := ledger.Pictures(0, jobItems)
	items[7] = ledger.Item{Picture: spots.Poison, Want: pb.Outcome_OUTCOME_DEAD}
	h.deliver(t, ledger.Job{Model: spots.Poisoned, Items: items})
	broken := h.deliver(t, ledger.Job{Model: spots.Broken, Items: dead(ledger.Pictures(500, 5))})
	h.deliver(t, ledger.Job{Model: spots.Model, Items: ledger.Pictures(1000, jobItems)})
	h.ledger.Await(t.Context(), within)
	h.deliver(t, ledger.Job{Model: spots.Hanging, Items: dead(ledger.Pictures(700, 2))})
	h.deliver(t, ledger.Job{Model: spots.Model, Items: ledger.Pictures(2000, jobItems)})
	if err := h.ledger.Requeue(t.Context(), broken, 3); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, within, "the item that was put back is dead again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		status, err := h.ledger.Status(ctx, broken)
		return err == nil && status.State == "done" && status.Counts["dead"] == 5
	})
	h.ledger.Await(t.Context(), within)
	r.kills = stop()
	if r.kills < 2 {
		t.Errorf("the predictor was killed %d times: the poison does nothing", r.kills)
	}
	h.close(t)
}
