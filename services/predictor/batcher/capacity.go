package batcher

import (
	"time"

	"triptych/shared/capacity"
)

// Capacity is what the batcher can take: its slots are its instances. The work of
// jobs does not count as waiting: whoever comes goes before it.
func (b *Batcher) Capacity() capacity.Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := capacity.Report{Slots: b.cfg.Instances, Waiting: b.lanes.watchedCount()}
	for _, s := range b.busy {
		if !s.begun.IsZero() {
			r.Running++
		}
	}
	if r.Waiting > 0 {
		r.Age = max(0, b.ran.Sub(b.lanes.oldestWatched()))
	}
	return r
}

// watchedCount is how many requests wait for which somebody waits.
func (q *lanes) watchedCount() int { return q.count - q.levels.waiting[q.cfg.bulkLevel()] }

// oldestWatched is when the one of those came that waits longest. It is looked for
// only when the last that was found has left: once a batch, however often it is
// asked for.
func (q *lanes) oldestWatched() time.Time {
	if !q.oldest.IsZero() {
		return q.oldest
	}
	for _, l := range q.active {
		for _, it := range l.waiting {
			if !it.bulk && (q.oldest.IsZero() || it.enqueued.Before(q.oldest)) {
				q.oldest = it.enqueued
			}
		}
	}
	return q.oldest
}
