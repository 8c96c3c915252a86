package modelserver

import (
	"context"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// sharedRun is one run of the model for all the equal requests that come while it
// lasts. It belongs to none of them: it goes on while anybody waits.
type sharedRun struct {
	deadline time.Time // of the request that began it; zero is none
	waiting  int       // guarded by the store's lock
	cancel   context.CancelFunc

	// Written before done is closed, read after it.
	response *inference.ModelInferResponse
	timing   Timing
	err      error
	done     chan struct{}
}

// newSharedRun is a run that one request waits for. Its context has the values
// and the deadline of that request's, but does not end when its caller goes.
func newSharedRun(ctx context.Context) (*sharedRun, context.Context) {
	run := &sharedRun{waiting: 1, done: make(chan struct{})}
	own := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		run.deadline = deadline
		own, run.cancel = context.WithDeadline(own, deadline)
		return run, own
	}
	own, run.cancel = context.WithCancel(own)
	return run, own
}

// shorterThan tells whether the run's deadline comes before that of ctx.
func (r *sharedRun) shorterThan(ctx context.Context) bool {
	if r.deadline.IsZero() {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || r.deadline.Before(deadline)
}

// endedBefore tells whether a run that is over failed by a deadline which one who
// waited for it does not have yet.
func (r *sharedRun) endedBefore(ctx context.Context) bool {
	return r.err != nil && failure.KindOf(r.err) == failure.Deadline && r.shorterThan(ctx)
}

// start begins a run that holds the version by itself: the one who leads it may
// leave before it ends.
func (c *responseCache) start(f found, key runKey, req *inference.ModelInferRequest, batch int64, looked time.Duration) {
	c.v.holdAgain()
	go func() {
		defer c.v.release()
		defer f.run.cancel()
		defer close(f.run.done)
		c.run(f, key, req, batch, looked)
	}()
}

// run runs the model, keeps its answer, and counts.
func (c *responseCache) run(f found, key runKey, req *inference.ModelInferRequest, batch int64, looked time.Duration) {
	run := f.run
	var keeping time.Time
	var kept *keptResponse
	run.err = failure.Guard(broke(c.v.name), func() (err error) {
		run.response, run.timing, err = c.v.infer(f.ctx, req, batch)
		if err != nil {
			return err
		}
		if run.response == nil {
			return failure.New(failure.Internal, "%s", broke(c.v.name))
		}
		keeping = time.Now()
		kept = c.keepable(key, req, run.response)
		return nil
	})
	c.over(key, run, kept)
	if run.err != nil {
		c.v.stats.abandoned(run.err, run.timing)
	} else {
		c.v.stats.ran(batch, run.timing)
	}
	if !keeping.IsZero() {
		looked += time.Since(keeping)
	}
	c.v.stats.missed(looked)
}

// over keeps what there is to keep. From then on nobody joins the run.
func (c *responseCache) over(key runKey, run *sharedRun, kept *keptResponse) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if kept != nil {
		c.store.put(kept)
	}
	c.forget(key, run)
}
