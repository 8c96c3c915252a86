package modelserver

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// sharedRun is one run of the model for all the equal requests that come while it
// lasts. It belongs to none of them: it goes on while anybody waits.
type sharedRun struct {
	deadline time.Time  // of the request that began it; zero is none
	leader   trace.Link // to the span of that request
	waiting  int        // guarded by the store's lock
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
	run := &sharedRun{waiting: 1, leader: trace.LinkFromContext(ctx), done: make(chan struct{})}
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
	run.err = c.execute(f.ctx, run, req, batch)
	keeping := time.Now()
	if run.err != nil {
		c.over(key, run, nil)
		c.v.stats.abandoned(run.err, run.timing)
	} else {
		c.over(key, run, c.keepable(key, req, run.response))
		c.v.stats.ran(batch, run.timing)
	}
	c.v.stats.missed(looked + time.Since(keeping))
}

// execute runs the model. A panic is the failure of those who wait for this run.
func (c *responseCache) execute(ctx context.Context, run *sharedRun, req *inference.ModelInferRequest, batch int64) (err error) {
	defer caught(&err, "model %q broke on this request", c.v.name)
	run.response, run.timing, err = c.v.infer(ctx, req, batch)
	if err == nil && run.response == nil {
		return failure.New(failure.Internal, "model %q broke on this request", c.v.name)
	}
	return err
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
