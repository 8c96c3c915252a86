package search

import (
	"time"

	"triptych/loadtest/stage"
)

// Longest is the time that a search takes when every step takes its longest.
func (r Rate) Longest() time.Duration {
	return time.Duration(r.Steps*max(r.Tries, 1)) * stepTime(r.Stage, r.length(r.Least))
}

// Longest is the time that a search takes when throughput grows to the end.
func (c Capacity) Longest() time.Duration {
	steps := 0
	for n := c.From; n <= c.Most; n *= 2 {
		steps++
	}
	return time.Duration(steps) * stepTime(c.Stage, c.Stage.Duration)
}

// stepTime is a step with its warm-up. Last answers may come a little later.
func stepTime(s stage.Stage, length time.Duration) time.Duration { return s.Warmup.Duration + length }
