package batcher

import "time"

// speed remembers how fast recent batches were.
type speed struct {
	requests float64       // in a batch, on average
	took     time.Duration // for a batch, on average
}

// weight of the newest batch in the averages.
const weight = 0.2

func (s *speed) add(requests int, took time.Duration) {
	if s.requests == 0 {
		s.requests, s.took = float64(requests), took
		return
	}
	s.requests += weight * (float64(requests) - s.requests)
	s.took += time.Duration(weight * float64(took-s.took))
}

// maxRetryAfter bounds the hint: nobody should be sent away for longer.
const maxRetryAfter = 30 * time.Second

// clear is the time until the requests that wait now have run: zero, which
// stands for the default hint, as long as nothing has run yet.
func (s *speed) clear(waiting, instances int) time.Duration {
	if s.requests == 0 {
		return 0
	}
	batches := float64(waiting) / s.requests / float64(instances)
	return min(max(time.Duration(batches*float64(s.took)), s.took, time.Millisecond), maxRetryAfter)
}
