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

// Sorter is a Target whose requests are of several sorts.
type Sorter interface {
	Target
	// Sort is asked once for item n when it is due: who records it too, and its
	// deadline in place of the plan's, if that is not 0. The slice is not kept.
	Sort(n int) (also []*measure.Recorder, deadline time.Duration)
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
	sorter   Sorter // nil when all requests are alike
	recorder *measure.Recorder
}

func newSession(plan Plan, target Target, recorder *measure.Recorder) session {
	sorter, _ := target.(Sorter)
	return session{Plan: plan, target: target, sorter: sorter, recorder: recorder}
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

// request is one that is due.
type request struct {
	item     int
	planned  time.Time
	also     []*measure.Recorder
	deadline time.Duration
}

// request is number n, which is due at planned.
func (s *session) request(n int64, planned time.Time) request {
	r := request{item: int(n % int64(s.Items)), planned: planned, deadline: s.Deadline}
	if s.sorter == nil {
		return r
	}
	also, deadline := s.sorter.Sort(r.item)
	r.also = also
	if deadline > 0 {
		r.deadline = deadline
	}
	return r
}

// each tells all who record a request.
func (s *session) each(r request, tell func(*measure.Recorder)) {
	tell(s.recorder)
	for _, recorder := range r.also {
		tell(recorder)
	}
}

// atOnce is within what a connection that fails costs no time.
const atOnce = time.Millisecond

// send makes request number n, which should have started at planned. It tells
// whether the request was lost at once, for want of a server.
func (s *session) send(work context.Context, n int64, planned time.Time) (lost bool) {
	r := s.request(n, planned)
	s.each(r, (*measure.Recorder).Started)
	began := time.Now()
	limit := s.limit(r, began)
	ctx, cancel := context.WithDeadline(work, limit)
	answer, err := s.target.Do(ctx, r.item)
	expired := !time.Now().Before(limit) // the context's own timer may be later, and a server's earlier
	cancel()
	latency := time.Since(planned)
	switch {
	case err == nil && !expired:
		s.each(r, func(to *measure.Recorder) { to.Answered(answer, latency, began.Sub(planned)) })
	case expired:
		s.fail(r, measure.Fault{Kind: measure.Timeout, Message: "no answer within " + s.patience(r).String()}, latency)
	case work.Err() != nil:
		s.each(r, (*measure.Recorder).Abandoned)
	default:
		f := measure.FaultOf(err)
		s.fail(r, f, latency)
		return f.Unreached || f.Kind == measure.Connection && latency < atOnce
	}
	return false
}

func (s *session) fail(r request, f measure.Fault, latency time.Duration) {
	s.each(r, func(to *measure.Recorder) { to.Failed(f, latency) })
}

// limit is when a request is given up.
func (s *session) limit(r request, began time.Time) time.Time {
	limit := began.Add(s.Timeout)
	if deadline := r.planned.Add(r.deadline); r.deadline > 0 && deadline.Before(limit) {
		return deadline
	}
	return limit
}

// patience is how long a request that is not late has.
func (s *session) patience(r request) time.Duration {
	if r.deadline > 0 {
		return min(r.deadline, s.Timeout)
	}
	return s.Timeout
}
