package simulator

import (
	"context"
	"time"

	"triptych/shared/failure"
)

// waiter lets time pass, for one at a time.
type waiter interface {
	// until returns nil at that time, or earlier the failure of the context.
	until(ctx context.Context, end time.Time) error
	close()
}

// goTimers waits by Go's timers.
type goTimers struct{}

func (goTimers) until(ctx context.Context, end time.Time) error {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return failure.OfContext(ctx)
	}
}

func (goTimers) close() {}
