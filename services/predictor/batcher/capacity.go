package batcher

import "triptych/shared/capacity"

// Capacity is what the batcher can take: its slots are its instances. The work of
// jobs does not count as waiting: whoever comes goes before it. A batch of it alone
// counts as one that runs.
func (b *Batcher) Capacity() capacity.Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := capacity.Report{Slots: b.cfg.Instances, Waiting: b.lanes.watchedCount()}
	for _, s := range b.busy {
		if !s.begun.IsZero() {
			r.Running += max(s.requests, 1)
		}
	}
	if first := b.lanes.first(); first != nil && r.Waiting > 0 {
		r.Age = max(0, b.ran.Sub(first.enqueued))
	}
	return r
}

// watched is how many of a batch's members somebody waits for.
func watched(members []*item) (n int) {
	for _, it := range members {
		if !it.bulk {
			n++
		}
	}
	return n
}

// watchedCount is how many requests wait for which somebody waits.
func (q *lanes) watchedCount() int { return q.count - q.levels.waiting[q.cfg.bulkLevel()] }

// first is the request that goes first of all that wait; nil when none does.
func (q *lanes) first() (first *item) {
	for _, l := range q.active {
		if it := l.waiting[0]; first == nil || byTurn(it, first) < 0 {
			first = it
		}
	}
	return first
}
