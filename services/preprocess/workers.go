package preprocess

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"triptych/shared/failure"
)

// workers bounds how many images are worked on at once and how many requests
// wait for that. It has no goroutines: who gets a slot works itself. Slots are
// given in the order in which they were asked for.
type workers struct {
	slots   *semaphore.Weighted
	waiting atomic.Int64
	queue   int64
}

func newWorkers(slots, queue int) *workers {
	return &workers{slots: semaphore.NewWeighted(int64(slots)), queue: int64(queue)}
}

// enter counts a request as waiting, or refuses it when the queue is full.
func (w *workers) enter() error {
	if w.waiting.Add(1) > w.queue {
		w.waiting.Add(-1)
		return failure.New(failure.Busy, "the queue for image decoding is full: %d requests are waiting", w.queue)
	}
	return nil
}

// leave ends what enter began.
func (w *workers) leave() { w.waiting.Add(-1) }

// acquire waits for a slot, which the caller gives back by release, and tells
// how long that took. A caller that has gone meanwhile gets no slot.
func (w *workers) acquire(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	err := w.slots.Acquire(ctx, 1)
	waited := time.Since(begin)
	if err != nil {
		return waited, failure.OfContext(ctx)
	}
	if err := failure.OfContext(ctx); err != nil {
		w.slots.Release(1)
		return waited, err
	}
	return waited, nil
}

func (w *workers) release() { w.slots.Release(1) }
