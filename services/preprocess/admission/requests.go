package admission

import (
	"time"

	"triptych/shared/failure"
)

// held counts requests and the bytes of their files, and apart from them those of
// jobs: their number is bounded by who brings them, so that neither takes the place
// of the others.
type held struct {
	waiting int
	bytes   int64
	bulk    int64 // bytes
}

// Enter counts a request of so many bytes as waiting. It is busy, with a hint when
// to try again, when too many wait or hold too much. Who has entered calls Started
// once, when its first image is let in or it gives up, and Leave when its files
// are no longer needed.
func (q *Queue) Enter(bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.held.waiting >= q.cfg.Requests:
		return q.busy("the queue for image decoding is full: %d requests are waiting", q.held.waiting)
	case q.held.bytes > 0 && q.held.bytes+bytes > q.cfg.Bytes:
		return q.busy("the queue for image decoding is full: %d bytes of images are held", q.held.bytes)
	}
	q.held.waiting++
	q.held.bytes += bytes
	return nil
}

// Started ends the wait of a request.
func (q *Queue) Started() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held.waiting--
}

// EnterBulk counts a request of a job, which is never busy. LeaveBulk must follow.
func (q *Queue) EnterBulk(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held.bulk += bytes
}

// LeaveBulk ends a request of a job.
func (q *Queue) LeaveBulk(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held.bulk -= bytes
}

// Leave ends a request of so many bytes.
func (q *Queue) Leave(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held.bytes -= bytes
}

// The hint for who is refused stays between these.
const (
	soonest = 50 * time.Millisecond
	latest  = 30 * time.Second
)

// busy refuses a request. By the hint, half of what waits now should be done.
func (q *Queue) busy(format string, arguments ...any) error {
	f := failure.New(failure.Busy, format, arguments...)
	waiting := float64(q.small.cost+q.large.cost) / 2
	f.RetryAfter = min(max(time.Duration(waiting*q.pace/float64(q.cfg.Slots)), soonest), latest)
	return f
}

// learning is the weight of the newest image in the pace.
const learning = 1. / 16

// learn takes over how long an image took, as nanoseconds per byte of cost.
func (q *Queue) learn(took time.Duration, cost int64) {
	pace := float64(took) / float64(cost)
	if q.pace > 0 {
		pace = q.pace + learning*(pace-q.pace)
	}
	q.pace = pace
}
