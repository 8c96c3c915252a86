package client

import (
	"context"
	"math/rand/v2"
	"time"

	"triptych/shared/failure"
)

// Patience is how long a call is tried again while the gateway is busy or away. The
// zero value is none.
type Patience struct {
	For time.Duration
	// Notice is told of each failure that is tried again, and when; nil is nobody.
	Notice func(err error, wait time.Duration)
}

// The waits between tries, where the gateway has not said when.
const (
	leastWait = 250 * time.Millisecond
	mostWait  = 10 * time.Second
)

// Try calls do until it is done, fails for good, or patience ends.
func (p Patience) Try(ctx context.Context, do func(context.Context) error) error {
	t := p.begin()
	for {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if err := t.pause(ctx, err); err != nil {
			return err
		}
	}
}

// tries is one run of patience.
type tries struct {
	Patience
	since time.Time // the first failure since there was progress
	wait  time.Duration
}

func (p Patience) begin() *tries { return &tries{Patience: p, wait: leastWait} }

// advanced says that there was progress: patience begins anew.
func (t *tries) advanced() { t.since, t.wait = time.Time{}, leastWait }

// pause waits for the next try, or gives the error back when there is none.
func (t *tries) pause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure.OfContext(ctx)
	}
	if !failure.KindOf(err).Retryable() {
		return err
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	wait := max(t.wait, hint(err))
	left := t.For - time.Since(t.since)
	if wait > left {
		return err
	}
	// Some more, so that many who were refused together don't come back together.
	wait = min(wait+time.Duration(rand.Int64N(int64(wait/5)+1)), left) //nolint:gosec // no secret
	t.wait = min(2*t.wait, mostWait)
	if t.Notice != nil {
		t.Notice(err, wait)
	}
	return sleep(ctx, wait)
}

// hint is what the gateway said of when to come back, 0 if it did not.
func hint(err error) time.Duration {
	if after := failure.RetryAfter(err); after != failure.DefaultRetryAfter {
		return after
	}
	return 0
}

// sleep waits, or says that the context has ended.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return failure.OfContext(ctx)
	}
}
