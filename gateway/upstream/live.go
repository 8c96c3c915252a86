package upstream

import (
	"time"

	"triptych/shared/failure"
)

// A round of asking has a bounded time, below lateAfter: one that takes longer, or
// than lateIntervals pauses between two, will not end.
const (
	lateAfter     = 10 * time.Second
	lateIntervals = 10
)

// Live says whether the rounds of asking go on: nil while they do, before they
// start and after they were stopped.
func (f *Fleet) Live() error {
	turned := f.turned.Load()
	if turned == nil {
		return nil
	}
	late := max(lateAfter, lateIntervals*f.config.Interval)
	if since := time.Since(*turned); since > late {
		return failure.New(failure.Unavailable, "the upstreams were last asked %s ago", since.Round(time.Second))
	}
	return nil
}

// turn notes that a round is over, or that the first begins.
func (f *Fleet) turn() {
	now := time.Now()
	f.turned.Store(&now)
}
