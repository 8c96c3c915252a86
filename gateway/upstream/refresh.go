package upstream

import (
	"context"
	"time"
)

// refreshTimeout bounds the wait for a round.
const refreshTimeout = 5 * time.Second

// Refresh asks every upstream now and returns when a round that began after the
// call is over, so that whoever gave an order finds it carried out. It gives up
// when ctx or its own time ends, or when nobody asks.
func (f *Fleet) Refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	since := time.Now()
	for f.turned.Load() != nil {
		over := *f.over.Load()
		if f.Asked().After(since) {
			return
		}
		select {
		case f.again <- struct{}{}:
		default: // a round is wanted already
		}
		select {
		case <-over:
		case <-ctx.Done():
			return
		}
	}
}

// announce wakes those who wait for the end of a round.
func (f *Fleet) announce() {
	next := make(chan struct{})
	close(*f.over.Swap(&next))
}
