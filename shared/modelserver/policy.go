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
}

// retryPause is the pause before a version that could not be loaded is tried again.
const retryPause = time.Second

// SetLoadPolicy must be called before anything is loaded.
func (r *Registry) SetLoadPolicy(p LoadPolicy) {
	p.Threads = max(p.Threads, 1)
	r.policy, r.loads = p, make(chan struct{}, p.Threads)
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
