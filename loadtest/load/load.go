// Package load sends requests to a target at a chosen concurrency (Closed) or
// at a chosen rate (Open), and has each one measured. It does not know what a
// request is.
package load

import (
	"context"
	"sync"
	"time"

	"triptych/loadtest/measure"
)

// grace is how long requests may still run when the test is ended early.
const grace = time.Second

// Target sends one request. Do may be called concurrently.
type Target interface {
	// Do sends item n of the test's data. An error is best a *measure.Fault,
	// which says what kind of error it is.
	Do(ctx context.Context, n int) (measure.Answer, error)
}

// Plan says how much to send.
type Plan struct {
	// Requests ends the test after so many; 0 for no such end.
	Requests int64
	// Duration ends the test when no request can start within it; 0 for no such
	// end.
	Duration time.Duration
	// Timeout bounds one request from when it is sent.
	Timeout time.Duration
	// Deadline bounds one request from when it is due, as for a user who needs
	// the answer by then; 0 for no such bound. The server is told.
	Deadline time.Duration
	// Items is how many items the target has. They are sent in turn.
	Items int
}

// session is one run of a plan.
type session struct {
	Plan
	target   Target
	recorder *measure.Recorder
}

// withGrace gives a context for requests, which outlives ctx by the grace, and
// a function that ends it and waits for what watches over it.
func withGrace(ctx context.Context) (work context.Context, end func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	finished := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		select {
		case <-finished:
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-finished:
		case <-timer.C:
		}
	})
	return work, func() {
		close(finished)
		wg.Wait()
	}
}

// over tells whether the plan has no request number n, or none after so long.
func (s *session) over(n int64, elapsed time.Duration) bool {
	return (s.Requests > 0 && n >= s.Requests) || (s.Duration > 0 && elapsed >= s.Duration)
}

// send makes request number n, which should have started at planned.
func (s *session) send(work context.Context, n int64, planned time.Time) {
	s.recorder.Started()
	began := time.Now()
	limit := s.limit(planned, began)
	ctx, cancel := context.WithDeadline(work, limit)
	answer, err := s.target.Do(ctx, int(n%int64(s.Items)))
	expired := !time.Now().Before(limit) // the context's own timer may be later, and a server's earlier
	cancel()
	switch {
	case err == nil && !expired:
		s.recorder.Answered(answer, time.Since(planned), began.Sub(planned))
	case expired:
		s.recorder.Failed(measure.Fault{Kind: measure.Timeout, Message: "no answer within " + s.patience().String()}, time.Since(planned))
	case work.Err() != nil:
		s.recorder.Abandoned()
	default:
		s.recorder.Failed(measure.FaultOf(err), time.Since(planned))
	}
}

// limit is when a request is given up.
func (s *session) limit(planned, began time.Time) time.Time {
	limit := began.Add(s.Timeout)
	if deadline := planned.Add(s.Deadline); s.Deadline > 0 && deadline.Before(limit) {
		return deadline
	}
	return limit
}

// patience is how long a request that is not late has.
func (s *session) patience() time.Duration {
	if s.Deadline > 0 {
		return min(s.Deadline, s.Timeout)
	}
	return s.Timeout
}
