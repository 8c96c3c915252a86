package batcher

import (
	"container/list"
	"time"
)

// lane holds the waiting requests that can share a batch, oldest first.
type lane struct {
	key   string
	items list.List
	rows  int
}

func (l *lane) front() *item { return l.items.Front().Value.(*item) }

// lanes is all that waits. A lane exists only while something waits in it, so
// there are never more lanes than requests. It has no lock of its own.
type lanes struct {
	cfg      Config
	byKey    map[string]*lane
	count    int
	sequence uint64
}

func newLanes(cfg Config) lanes { return lanes{cfg: cfg, byKey: map[string]*lane{}} }

func (q *lanes) push(it *item) {
	l := q.byKey[it.key]
	if l == nil {
		l = &lane{key: it.key}
		q.byKey[it.key] = l
	}
	q.sequence++
	it.sequence = q.sequence
	it.lane, it.place = l, l.items.PushBack(it)
	l.rows += it.rows
	q.count++
}

func (q *lanes) remove(it *item) {
	l := it.lane
	l.items.Remove(it.place)
	it.lane, it.place = nil, nil
	l.rows -= it.rows
	q.count--
	if l.items.Len() == 0 {
		delete(q.byKey, l.key)
	}
}

// moveBack lets everything that waits now go first.
func (q *lanes) moveBack(it *item) {
	q.sequence++
	it.sequence = q.sequence
	it.lane.items.MoveToBack(it.place)
}

// cut is a decision to run the first n requests of a lane.
type cut struct {
	lane   *lane
	n      int
	rows   int
	reason string
}

// next decides what an idle instance should run now. When that is nothing, it
// says when a lane will be ready if nothing changes; zero is never.
func (q *lanes) next(now time.Time, draining bool) (c cut, found bool, due time.Time) {
	for _, l := range q.byKey {
		if found && l.front().sequence > c.lane.front().sequence {
			continue
		}
		if candidate, ok := q.cutOf(l, now, draining); ok {
			c, found = candidate, true
			continue
		}
		if at := l.front().enqueued.Add(q.cfg.Delay); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return c, found, due
}

// cutOf applies the rules that the package's comment lists.
func (q *lanes) cutOf(l *lane, now time.Time, draining bool) (cut, bool) {
	if !q.cfg.Dynamic {
		return cut{lane: l, n: 1, rows: l.front().rows, reason: waitless(draining)}, true
	}
	overdue := !now.Before(l.front().enqueued.Add(q.cfg.Delay))
	if !overdue && !draining && l.rows < q.cfg.MaxBatchSize {
		return q.preferred(l)
	}
	c := cut{lane: l}
	for e := l.items.Front(); e != nil && c.rows+e.Value.(*item).rows <= q.cfg.MaxBatchSize; e = e.Next() {
		c.n++
		c.rows += e.Value.(*item).rows
	}
	switch {
	case c.rows == q.cfg.MaxBatchSize || c.n < l.items.Len():
		c.reason = cutFull
	case overdue && q.cfg.Delay > 0:
		c.reason = cutDelay
	default:
		c.reason = waitless(draining)
	}
	return c, true
}

// preferred cuts at the largest preferred size that a prefix of the lane has.
func (q *lanes) preferred(l *lane) (cut, bool) {
	best := cut{lane: l, reason: cutPreferred}
	if len(q.cfg.Preferred) == 0 || l.rows < q.cfg.Preferred[0] {
		return best, false
	}
	n, rows := 0, 0
	for e := l.items.Front(); e != nil; e = e.Next() {
		n++
		rows += e.Value.(*item).rows
		for _, size := range q.cfg.Preferred {
			if rows == size {
				best.n, best.rows = n, rows
			}
		}
	}
	return best, best.n > 0
}

func waitless(draining bool) string {
	if draining {
		return cutDrain
	}
	return cutIdle
}
