package admission

import "triptych/shared/capacity"

// Capacity is what the queue can take: images are worked on in its slots, requests
// wait until their first image is. The age is that of the image that waits longest in
// the lane from which one was taken last, whosever it is: the other lane's may wait for
// long while all that comes here goes at once.
func (q *Queue) Capacity() capacity.Report {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := capacity.Report{Slots: q.cfg.Slots, Running: q.slots, Waiting: q.held.waiting}
	if q.last != nil && r.Waiting > 0 {
		if first := q.last.head(); first != nil {
			r.Age = max(0, q.began.Sub(first.came))
		}
	}
	return r
}
