// Package pace lets time go by, once or again and again. It starts nothing: who calls
// waits.
package pace

import (
	"context"
	"time"
)

// Wait lets a time go by, or is the error of a context that ends before.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Every acts at once, and again after each interval, until the context ends, which is
// no error, or an act has one.
func Every(ctx context.Context, interval time.Duration, act func() error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := act(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
