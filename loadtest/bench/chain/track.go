package chain

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// track is a target that remembers each request.
type track struct {
	load.Target
	inFlight atomic.Int64

	mu   sync.Mutex
	past []request
}

// request is one that is over.
type request struct {
	began  time.Time
	took   time.Duration
	failed bool
}

// Do sends item n and remembers what came of it.
func (t *track) Do(ctx context.Context, n int) (measure.Answer, error) {
	t.inFlight.Add(1)
	began := time.Now()
	answer, err := t.Target.Do(ctx, n)
	t.inFlight.Add(-1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.past = append(t.past, request{began, time.Since(began), err != nil})
	return answer, err
}

// times are those of the requests that began within a time and are over, as their
// users saw them: one that failed took for ever.
func (t *track) times(from, to time.Time) []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var times []time.Duration
	for _, r := range t.past {
		switch {
		case r.began.Before(from) || !r.began.Before(to):
		case r.failed:
			times = append(times, math.MaxInt64)
		default:
			times = append(times, r.took)
		}
	}
	return times
}

// worst are the p99 of one piece of time after the other.
func (t *track) worst(from, to time.Time, piece time.Duration) []time.Duration {
	var list []time.Duration
	for ; from.Before(to); from = from.Add(piece) {
		times := t.times(from, from.Add(piece))
		if len(times) == 0 {
			list = append(list, 0)
			continue
		}
		slices.Sort(times)
		list = append(list, times[(len(times)*99+99)/100-1])
	}
	return list
}
