package batcher

import (
	"context"
	"strconv"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// The reasons why a batch was cut; see the package's comment.
const (
	cutFull      = "full"
	cutPreferred = "preferred"
	cutDelay     = "delay"
	cutIdle      = "idle"
	cutDrain     = "drain"
)

// batch is what an instance runs at once.
type batch struct {
	members []*item
	rows    int
	reason  string
	begun   time.Time
	ctx     context.Context // ends when no member waits any longer
	cancel  context.CancelFunc
	// released is closed when no member's memory is read any longer. Only the
	// instance closes it, by release.
	released chan struct{}
	free     bool
	waiting  int // members whose caller still waits; guarded by the batcher's lock
}

// release lets callers who have gone have their memory back. It may be called
// more than once.
func (w *batch) release() {
	if !w.free {
		w.free = true
		close(w.released)
	}
}

// instance runs one batch after the other until the batcher is closed and empty.
func (b *Batcher) instance() {
	var scratch buffers
	for {
		work, ok := b.next()
		if !ok {
			return
		}
		b.run(work, &scratch)
		work.cancel()
	}
}

// next waits for a batch. False means that there will be none.
func (b *Batcher) next() (*batch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		now := time.Now()
		c, found, due := b.lanes.next(now, b.closed)
		switch {
		case found:
			if work := b.claim(c, now); work != nil {
				return work, true
			}
			continue // somebody was dead: the lane may not be ready any longer
		case b.closed:
			return nil, false
		case !due.IsZero():
			b.alarm.Reset(due.Sub(now))
		}
		b.ready.Wait()
	}
}

// claim takes the requests of a cut out of their lane. When it finds some that
// nobody waits for, it drops those, takes none, and gives nil.
func (b *Batcher) claim(c cut, now time.Time) *batch {
	work := &batch{members: make([]*item, 0, c.n), rows: c.rows, reason: c.reason, begun: now, released: make(chan struct{}), waiting: c.n}
	for e := c.lane.items.Front(); e != nil && len(work.members) < c.n; e = e.Next() {
		work.members = append(work.members, e.Value.(*item))
	}
	if b.dropDead(work.members, now) {
		return nil
	}
	work.ctx, work.cancel = context.WithCancel(context.Background())
	for _, it := range work.members {
		b.lanes.remove(it)
		it.batch = work
		it.waited = now.Sub(it.enqueued)
	}
	if b.lanes.count > 0 {
		b.ready.Signal() // another idle instance may find work too
	}
	return work
}

func (b *Batcher) dropDead(members []*item, now time.Time) bool {
	found := false
	for _, it := range members {
		if it.dead(now) {
			b.drop(it, dropReason(it.ctx), gone(it.ctx))
			found = true
		}
	}
	return found
}

// outcome is what became of a batch.
type outcome struct {
	answers []*inference.ModelInferResponse // one for each member, unless the batch failed
	timing  modelserver.Timing
}

// run executes a batch and answers its members, whatever happens: an instance
// that ended here would take the whole process with it.
func (b *Batcher) run(work *batch, scratch *buffers) {
	start := time.Now()
	done := outcome{timing: modelserver.Timing{Batch: work.rows}}
	err := b.guard(func() error { return b.traced(work, scratch, &done) })
	work.release()
	b.measure(work, time.Since(start))
	done.tell(work.members, err)
}

func (b *Batcher) guard(f func() error) error {
	return failure.Guard("model "+strconv.Quote(b.cfg.Model)+" broke while it ran a batch", f)
}

// traced executes a batch inside its spans.
func (b *Batcher) traced(work *batch, scratch *buffers, done *outcome) error {
	b.metrics.batch(work)
	ctx, spans := b.startSpans(work)
	err := b.guard(func() error { return b.compute(ctx, work, scratch, done) })
	spans.end(err)
	return err
}

// compute gathers the inputs, runs the model and cuts its answer.
func (b *Batcher) compute(ctx context.Context, work *batch, scratch *buffers, done *outcome) error {
	start := time.Now()
	inputs := work.members[0].inputs
	if len(work.members) > 1 {
		inputs = scratch.gather(work)
		work.release()
	}
	gathered := time.Now()
	done.timing.ComputeInput = gathered.Sub(start)
	outputs, err := b.execute(ctx, inputs)
	work.release()
	executed := time.Now()
	done.timing.ComputeInfer = executed.Sub(gathered)
	done.answers, err = b.answers(work, outputs, err)
	done.timing.ComputeOutput = time.Since(executed)
	return err
}

// tell answers every member. The first one's timing speaks for the batch.
func (o *outcome) tell(members []*item, err error) {
	for i, it := range members {
		own := o.timing
		own.Queue = it.waited
		if i == 0 {
			own.Executions = 1
		}
		if err != nil {
			it.finish(nil, own, err)
			continue
		}
		it.finish(o.answers[i], own, nil)
	}
}

func (b *Batcher) measure(work *batch, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.speed.add(len(work.members), took)
}
