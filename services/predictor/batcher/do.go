package batcher

import (
	"context"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// Do runs one request, in a batch with others where that is allowed, and gives
// its own rows of the answer. The request must have passed oip.Check. When ctx
// ends first, Do returns at once if the request is still waiting; the request's
// memory is not read after Do has returned.
func (b *Batcher) Do(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, modelserver.Timing, error) {
	if b.cfg.Split && oversize(req, b.cfg.MaxBatchSize) {
		return b.split(ctx, req)
	}
	it, err := b.newItem(ctx, req)
	if err != nil {
		return nil, modelserver.Timing{}, err
	}
	timeout, err := b.timeout(it, req)
	if err != nil {
		b.recycle(it)
		return nil, modelserver.Timing{}, err
	}
	it.startQueue(b.tracer)
	if err := b.enqueue(it); err != nil {
		it.endQueue(err)
		b.recycle(it)
		return nil, modelserver.Timing{}, err
	}
	return b.await(it, timeout)
}

// timeout is how long the request may wait in the queue; 0 is for ever.
func (b *Batcher) timeout(it *item, req *inference.ModelInferRequest) (time.Duration, error) {
	policy := b.cfg.queue(it.level)
	if policy.Timeout == 0 || !policy.TimeoutOverride {
		return policy.Timeout, nil
	}
	own, err := oip.IntParameter(req.GetParameters(), "timeout", 0)
	if err != nil {
		return 0, err
	}
	if own > 0 && own < policy.Timeout.Microseconds() {
		return time.Duration(own) * time.Microsecond, nil
	}
	return policy.Timeout, nil
}

func (b *Batcher) await(it *item, timeout time.Duration) (*inference.ModelInferResponse, modelserver.Timing, error) {
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		select {
		case <-it.done:
			resp, timing, err := it.resp, it.timing, it.err
			b.recycle(it)
			return resp, timing, err
		case <-it.ctx.Done():
			return nil, modelserver.Timing{Queue: b.leave(it)}, failure.OfContext(it.ctx)
		case <-expired:
			if err := b.expire(it); err != nil {
				return nil, modelserver.Timing{Queue: time.Since(it.enqueued)}, err
			}
		}
	}
}

// leave takes a request whose caller has gone out of the queue, or waits until
// its batch reads none of its memory. It tells how long the request had waited.
func (b *Batcher) leave(it *item) (waited time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it.queued() {
		b.drop(it, dropReason(it.ctx), gone(it.ctx))
		return time.Since(it.enqueued)
	}
	it.left = true
	if it.work != nil {
		if it.work.waiting--; it.work.waiting == 0 {
			it.work.cancel()
		}
	}
	b.order.leave(it)
	for it.read {
		b.released.Wait()
	}
	return it.waited
}

// expire handles a request that has waited as long as the queue policy allows.
func (b *Batcher) expire(it *item) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !it.queued() {
		return nil
	}
	if b.cfg.queue(it.level).TimeoutDelays {
		b.lanes.moveBack(it)
		return nil
	}
	late := failure.New(failure.Deadline, "the request waited %s in the queue of model %q, as long as its queue policy allows", time.Since(it.enqueued).Round(time.Millisecond), b.cfg.Model)
	b.drop(it, dropTimeout, late)
	return late
}

// drop takes a waiting request out of its lane. It is called with the lock held
// and does nothing to a request that does not wait any longer.
func (b *Batcher) drop(it *item, reason string, why error) {
	if !it.queued() {
		return
	}
	b.lanes.remove(it)
	b.metrics.drop(reason)
	it.endQueue(why)
	b.order.leave(it)
}

// gone is why nobody waits any longer. A deadline that has passed counts even
// when the context has not noticed yet.
func gone(ctx context.Context) error {
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	return failure.New(failure.Deadline, "%s", failure.Message(context.DeadlineExceeded))
}
