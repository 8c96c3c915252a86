package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"triptych/loadtest/measure"
)

// Closed keeps concurrency requests in flight: each worker sends its next one
// when it has its answer. It returns when all answers are in, or soon after ctx
// is done. A slow server gets less load this way, so that its latency looks
// better than a crowd of independent users would find it: that is what Open is
// for. A worker whose requests find no server rests between them, or a server that
// is gone would get thousands a second.
func Closed(ctx context.Context, plan Plan, concurrency int, target Target, recorder *measure.Recorder) {
	s := newSession(plan, target, recorder)
	work, end := withGrace(ctx)
	defer end()
	start := time.Now()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			var r rest
			for ctx.Err() == nil {
				n, now := next.Add(1)-1, time.Now()
				if s.over(n, now.Sub(start)) {
					return
				}
				r.after(ctx, s.send(work, n, now), s.left(start))
			}
		})
	}
	workers.Wait()
}

// left is how much time the plan has.
func (s *session) left(start time.Time) time.Duration {
	if s.Duration == 0 {
		return mostRest
	}
	return time.Until(start.Add(s.Duration))
}

// The rests between requests that are lost one after another.
const (
	leastRest = 10 * time.Millisecond
	mostRest  = time.Second
)

// rest is how long a worker has last rested.
type rest time.Duration

// after rests when a request was lost: twice as long as the last time, but no longer
// than there is time left.
func (r *rest) after(ctx context.Context, lost bool, left time.Duration) {
	if !lost {
		*r = 0
		return
	}
	wait := min(max(2*time.Duration(*r), leastRest), mostRest)
	*r = rest(wait)
	timer := time.NewTimer(0)
	defer timer.Stop()
	sleep(ctx, timer, min(wait, left))
}
