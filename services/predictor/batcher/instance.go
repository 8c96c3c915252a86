package batcher

import (
	"context"
	"time"

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
	// released is closed when no member's memory is read any longer.
	released chan struct{}
	waiting  int // members whose caller still waits; guarded by the batcher's lock
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

// run executes a batch and answers its members.
func (b *Batcher) run(work *batch, scratch *buffers) {
	b.metrics.batch(work)
	ctx, spans := b.startSpans(work)
	timing := modelserver.Timing{Batch: work.rows}

	start := time.Now()
	inputs := work.members[0].inputs
	if len(work.members) > 1 {
		inputs = scratch.gather(work)
		close(work.released)
	}
	gathered := time.Now()
	outputs, err := b.execute(ctx, inputs)
	if len(work.members) == 1 {
		close(work.released)
	}
	executed := time.Now()
	answers, err := b.answers(work, outputs, err)
	timing.ComputeInput = gathered.Sub(start)
	timing.ComputeInfer = executed.Sub(gathered)
	timing.ComputeOutput = time.Since(executed)

	b.measure(work, time.Since(start))
	spans.end(err)
	for i, it := range work.members {
		own := timing
		own.Queue = it.waited
		if i == 0 {
			own.Executions = 1
		}
		if err != nil {
			it.finish(nil, own, err)
			continue
		}
		it.finish(answers[i], own, nil)
	}
}

func (b *Batcher) measure(work *batch, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.speed.add(len(work.members), took)
}
