package front

import (
	"context"
	"io"
	"net/http"
	"time"

	"triptych/shared/failure"
)

// bodyGrace is how long a caller may be slower than the rate.
const bodyGrace = 5 * time.Second

// pace bounds the time that a body takes to come: all of it has a time, and while
// we wait for it, it has a rate. Time in which nobody reads is not the caller's.
type pace struct {
	control *http.ResponseController
	until   time.Time
	passed  failure.Kind // what it means that until has passed
	rate    int64

	received int64
	waited   time.Duration
	slow     bool // the deadline that is set is that of the rate
}

func newPace(ctx context.Context, control *http.ResponseController, timeout time.Duration, rate int64) *pace {
	p := &pace{control: control, until: time.Now().Add(timeout), passed: failure.SlowRequest, rate: rate}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(p.until) {
		p.until, p.passed = deadline, failure.Deadline
	}
	return p
}

// read reads what has come, or waits for it as long as it may take.
func (p *pace) read(r io.Reader, into []byte) (int, error) {
	start := time.Now()
	earned := time.Duration(float64(p.received) / float64(p.rate) * float64(time.Second))
	deadline := start.Add(bodyGrace + earned - p.waited)
	if p.slow = deadline.Before(p.until); !p.slow {
		deadline = p.until
	}
	// A writer without deadlines is a test's recorder, whose body is in memory.
	_ = p.control.SetReadDeadline(deadline)
	n, err := r.Read(into)
	p.received += int64(n)
	p.waited += time.Since(start)
	return n, err
}

// over lifts the deadline: it would otherwise end the wait for the caller's going
// away, which the server takes for its going away.
func (p *pace) over() { _ = p.control.SetReadDeadline(time.Time{}) }

// late is the failure of a body whose deadline has passed.
func (p *pace) late(err error) error {
	if p.passed == failure.Deadline && !p.slow {
		return failure.Wrap(err, failure.Deadline, "the deadline of the request has passed while its body came in")
	}
	return failure.Wrap(err, failure.SlowRequest, "the body came too slowly")
}
