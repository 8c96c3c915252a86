package modelserver

import (
	"context"
	"sync/atomic"
	"time"

	"triptych/shared/call"
)

// waited knows of the requests for which somebody waits, as opposed to the work of
// jobs. Safe for concurrent use.
type waited struct {
	running atomic.Int64
	last    atomic.Pointer[time.Time] // when the last one ended
}

// begin counts a request; the end must follow.
func (w *waited) begin(ctx context.Context) (end func()) {
	if call.Of(ctx).Bulk {
		return func() {}
	}
	w.running.Add(1)
	return func() {
		now := time.Now()
		w.last.Store(&now)
		w.running.Add(-1)
	}
}

// forever is longer than anybody looks back.
const forever = 1 << 62

// Unwatched is how long nobody has waited for an answer: 0 while somebody does.
// The work of jobs does not count.
func (s *Service) Unwatched() time.Duration {
	if s.waited.running.Load() > 0 {
		return 0
	}
	last := s.waited.last.Load()
	if last == nil {
		return forever
	}
	return time.Since(*last)
}
