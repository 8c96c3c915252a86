package admission

import "triptych/shared/capacity"

// Capacity is what the queue can take: images are worked on in its slots, requests
// wait until their first image is. The age is that of the image that waits longest,
// whosever it is: they go first come, first served.
func (q *Queue) Capacity() capacity.Report {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := capacity.Report{Slots: q.cfg.Slots, Running: q.slots, Waiting: q.held.waiting}
	for _, l := range []*lane{&q.small, &q.large} {
		if first := l.head(); first != nil && r.Waiting > 0 {
			r.Age = max(r.Age, q.began.Sub(first.came))
		}
	}
	return r
}
