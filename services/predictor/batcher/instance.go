package batcher

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
)

// work is the batch that an instance runs. Each instance has one, used again.
type work struct {
	id      int // of the instance
	members []*item
	lane    *lane // of the last batch
	rows    int
	reason  string
	begun   time.Time
	buffers buffers
	cuts    []cutter        // room for those of scatter
	batch   trace.Span      // nil unless a member is sampled
	ctx     context.Context // ends when no member waits any longer
	cancel  context.CancelFunc
	open    int // members without an answer; guarded by the batcher's lock
	waiting int // those of them whose caller still waits; guarded by the batcher's lock
}

// instance runs one batch after the other until the batcher is closed and empty.
func (b *Batcher) instance(id int) {
	w := &work{id: id}
	for b.next(w) {
		b.run(w)
	}
	if w.cancel != nil {
		w.cancel()
	}
}

// next waits for a batch. False means that there will be none.
func (b *Batcher) next(w *work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest(w)
	defer func() { b.idle-- }()
	for {
		now := time.Now()
		if b.limit.raise(now) {
			b.metrics.limit.Set(float64(b.limit.rows))
		}
		c, found, again := b.lanes.next(scene{
			now: now, limit: b.limit.rows, draining: b.closed, idle: b.idle > 1, free: b.nextFree(now),
		})
		switch {
		case found:
			if b.claim(w, c, now) {
				return true
			}
			continue // somebody was dead: the lane may not be ready any longer
		case b.closed:
			return false
		}
		if b.limit.low() && (again.IsZero() || b.limit.until.Before(again)) {
			again = b.limit.until
		}
		if !again.IsZero() {
			b.alarm.Reset(again.Sub(now))
		}
		b.ready.Wait()
	}
}

// rest makes the instance idle.
func (b *Batcher) rest(w *work) {
	now := time.Now()
	b.busy[w.id] = span{}
	b.idle++
	b.lanes.begin(now, w.lane)
	if w.ctx == nil || w.ctx.Err() != nil {
		w.ctx, w.cancel = context.WithCancel(context.Background())
	}
}

// claim takes the requests of a cut out of their lane. When it finds some that
// nobody waits for or that can't be answered in time, it drops those, takes none,
// and says so.
func (b *Batcher) claim(w *work, c cut, now time.Time) bool {
	took := c.lane.cost.of(c.rows)
	if b.dropDead(c.members, now, took) {
		return false
	}
	w.members = append(w.members[:0], c.members...)
	w.lane, w.rows, w.reason, w.begun = c.lane, c.rows, c.reason, now
	w.open, w.waiting = len(c.members), len(c.members)
	b.lanes.levels.cut(w.members)
	for _, it := range w.members {
		b.lanes.remove(it)
		it.work, it.read = w, true
		it.waited = now.Sub(it.enqueued)
	}
	b.busy[w.id], b.ran = span{now, now.Add(took), watched(w.members)}, now
	if b.lanes.count > 0 {
		b.ready.Signal() // another idle instance may find work too
	}
	return true
}

func (b *Batcher) dropDead(members []*item, now time.Time, took time.Duration) bool {
	dead := b.lanes.dead[:0]
	for _, it := range members {
		if it.dead(now) || b.hopeless(it, now, took) {
			dead = append(dead, it)
		}
	}
	b.lanes.dead = dead
	for _, it := range dead {
		if it.dead(now) {
			b.drop(it, dropReason(it.ctx), gone(it.ctx))
			continue
		}
		it.err = failure.New(failure.Deadline, "the request waited %s in the queue of model %q and can't be answered within its deadline any longer", now.Sub(it.enqueued).Round(time.Millisecond), b.cfg.Model)
		it.timing.Queue = now.Sub(it.enqueued)
		b.drop(it, dropHopeless, it.err)
		it.done <- struct{}{}
	}
	return len(dead) > 0
}

// hopeless tells whether a batch would end after the request's deadline.
func (b *Batcher) hopeless(it *item, now time.Time, took time.Duration) bool {
	return !it.deadline.IsZero() && !it.trial && !it.bulk && b.cfg.Policy == Adaptive && now.Add(took).After(it.deadline)
}

// settle ends the batch's hold on members that have their answers, and gives
// them out. From then on they are their callers': the batch forgets them. The
// first whose caller still waits speaks for the executions. What is left of the
// batch ends when no caller waits for it.
func (b *Batcher) settle(w *work, members []*item, executions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unread(members)
	for i, it := range members {
		if !it.left {
			it.timing.Executions, executions = executions, 0
			w.waiting--
		}
		it.work, members[i] = nil, nil
		b.order.answer(it)
	}
	if w.open -= len(members); w.open > 0 && w.waiting == 0 {
		w.cancel()
	}
}

// release lets callers who have gone have their memory back.
func (b *Batcher) release(members []*item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unread(members)
}

func (b *Batcher) unread(members []*item) {
	for _, it := range members {
		it.read = false
	}
	b.released.Broadcast()
}
