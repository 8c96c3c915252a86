package modelserver

import (
	"context"
	"time"

	"triptych/shared/failure"
)

// LoadPolicy says how models are loaded.
type LoadPolicy struct {
	// Threads is how many models are loaded at once; 0 is 1.
	Threads int
	// Retries is how often a version that could not be loaded is tried again.
	Retries int
	// Timeout is how long one try may take, with its warm-up; 0 sets no bound. A
	// model that never gets ready would hold up all the others.
	Timeout time.Duration
}

// retryPause is the pause before a version that could not be loaded is tried again.
const retryPause = time.Second

// SetLoadPolicy must be called before anything is loaded.
func (r *Registry) SetLoadPolicy(p LoadPolicy) {
	p.Threads = max(p.Threads, 1)
	r.policy, r.loads = p, make(chan struct{}, p.Threads)
}

// bounded gives one try its time; done must follow. What it gives for the try's
// error names the bound, if that is what ended it.
func (p LoadPolicy) bounded(ctx context.Context) (try context.Context, done func(error) error) {
	if p.Timeout <= 0 {
		return ctx, func(err error) error { return err }
	}
	late := failure.New(failure.Deadline, "loading and warming up took longer than %s (--model-load-timeout)", p.Timeout)
	try, cancel := context.WithTimeoutCause(ctx, p.Timeout, late)
	return try, func(err error) error {
		defer cancel()
		if err != nil && context.Cause(try) == error(late) { //nolint:errorlint // this very one
			return late
		}
		return err
	}
}

// room waits until one more load may run; done must follow.
func (r *Registry) room(ctx context.Context) (done func(), err error) {
	select {
	case r.loads <- struct{}{}:
		return func() { <-r.loads }, nil
	case <-ctx.Done():
		return nil, failure.OfContext(ctx)
	}
}

// pause waits before another try; false when the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
