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
// for.
func Closed(ctx context.Context, plan Plan, concurrency int, target Target, recorder *measure.Recorder) {
	s := newSession(plan, target, recorder)
	work, end := withGrace(ctx)
	defer end()
	start := time.Now()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for ctx.Err() == nil {
				n, now := next.Add(1)-1, time.Now()
				if s.over(n, now.Sub(start)) {
					return
				}
				s.send(work, n, now)
			}
		})
	}
	workers.Wait()
}
