package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

// conclude ends a task that ran, or could not: by what its failure means for jobs
// (the table of Kinds in the design).
func (w *work) conclude(ctx context.Context, err error) {
	kind := failure.KindOf(err)
	switch {
	case err == nil:
		w.done(ctx, outcomePassed)
	case errors.Is(err, jobs.ErrLost):
		// Nobody can go on from here. Whoever feeds finds that nothing is on its way, and
		// starts the item again.
		w.door.tel.Logger.WarnContext(ctx, "the tensors of a task are gone: the item has to be started again", "job", w.task.GetJob(), "item", w.task.GetItem(), "model", w.model)
		w.done(ctx, outcomeLost)
	case ctx.Err() != nil: // the end of the process
		w.excuse(ctx, err, nakStop)
	case mayPass(err) || kind == failure.NotFound && !w.door.serves(w.model):
		w.excuse(ctx, err, nakBusy)
	case kind == failure.Deadline && w.expired():
		w.expire(ctx)
	case kind == failure.Internal || kind == failure.Deadline || kind == failure.Cancelled:
		w.fail(ctx, err)
	default:
		w.decide(ctx, pb.Outcome_OUTCOME_FAILED, err)
	}
}

// mayPass tells whether trouble may be over by itself, so that it is no attempt.
func mayPass(err error) bool {
	kind := failure.KindOf(err)
	return kind == failure.Busy || kind == failure.Unavailable
}

// done acknowledges a task: what follows from it is stored.
func (w *work) done(ctx context.Context, outcome string) {
	w.delivery.ack()
	w.metrics.task(outcome)
	if err := w.door.store.Done(ctx, w.task); err != nil {
		w.door.tel.Logger.DebugContext(ctx, "tensors of a task that is done are left to expire", "error", err)
	}
}

// decide writes the verdict of an item that goes no further.
func (w *work) decide(ctx context.Context, outcome pb.Outcome, why error) {
	telemetry.Fail(w.span, why)
	v := w.verdict(ctx, outcome, why)
	err := w.persist(ctx, func(ctx context.Context) error {
		_, err := w.door.store.Decide(ctx, v, w.task.GetFence())
		return err
	})
	w.decided(ctx, outcome, err)
}

// bury gives the item up.
func (w *work) bury(ctx context.Context, why error) {
	telemetry.Fail(w.span, why)
	v := w.verdict(ctx, pb.Outcome_OUTCOME_DEAD, why)
	err := w.persist(ctx, func(ctx context.Context) error { return w.door.store.Bury(ctx, v, w.task.GetFence()) })
	if err == nil {
		w.door.tel.Logger.ErrorContext(ctx, "an item was given up", "job", v.GetJob(), "item", v.GetItem(), "model", w.model, "attempts", v.GetAttempts(), "error", why)
	}
	w.decided(ctx, pb.Outcome_OUTCOME_DEAD, err)
}

func (w *work) decided(ctx context.Context, outcome pb.Outcome, err error) {
	if err != nil {
		w.excuse(ctx, err, nakFull)
		return
	}
	w.done(ctx, jobs.OutcomeName(outcome))
}

func (w *work) verdict(ctx context.Context, outcome pb.Outcome, why error) *pb.Verdict {
	return w.task.Verdict(ctx, &pb.Verdict{Outcome: outcome, Step: w.task.Model(), Error: errorOf(why)})
}

func errorOf(err error) *pb.Error {
	return &pb.Error{Kind: failure.KindOf(err).String(), Message: failure.Message(err)}
}

// unreadable ends a task that can't be read: as a dead letter when its subject says
// whose it is.
func (p *puller) unreadable(ctx context.Context, d *delivery, why error) {
	a, ok := stream.StepOf(d.msg.Subject)
	if !ok {
		p.door.tel.Logger.ErrorContext(ctx, "a task can't be read", "model", p.model, "subject", d.msg.Subject, "error", why)
		d.term()
		p.metrics.task(outcomeDead)
		return
	}
	v := &pb.Verdict{Job: a.Job, Item: a.Item, Step: p.model, Attempts: d.earlier() + 1, Error: errorOf(why)}
	err := p.persist(ctx, func(ctx context.Context) error {
		fence, decided, err := p.door.store.Fence(ctx, a.Job, a.Item)
		if err != nil || decided {
			return err
		}
		return p.door.store.Bury(ctx, v, fence)
	})
	if err != nil {
		p.refuse(d, nakFull)
		return
	}
	p.door.tel.Logger.ErrorContext(ctx, "an item was given up: its task can't be read", "job", a.Job, "item", a.Item, "model", p.model, "error", why)
	d.ack()
	p.metrics.task(outcomeDead)
}

const (
	// persistFirst and persistMost are the pauses between two tries to store something.
	persistFirst = 50 * time.Millisecond
	persistMost  = 2 * time.Second
	// slowest bounds the pause before a task comes again.
	slowest = time.Minute
)

// persist tries to store something until it is stored, or another failure than one
// that may pass comes, or the time to hold a task is over. Meanwhile no more tasks
// of the model are taken.
func (p *puller) persist(ctx context.Context, act func(context.Context) error) error {
	err := act(ctx)
	if err == nil || !mayPass(err) {
		return err
	}
	p.stuck.Add(1)
	defer func() {
		p.stuck.Add(-1)
		p.wake()
	}()
	begun := time.Now()
	for pause := persistFirst; time.Since(begun) < p.door.cfg.Hold; pause = min(2*pause, persistMost) {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(jitter(pause)):
		}
		if err = act(ctx); err == nil || !mayPass(err) {
			return err
		}
	}
	return err
}

// jitter is a pause of about so long, so that not all come again at once.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(max(d, 1)) //nolint:gosec // Nobody guesses it.
}

// backoff is the pause before the try after so many.
func (p *puller) backoff(tries uint32) time.Duration {
	d := p.door.cfg.Delay
	for range min(tries, 32) {
		if d = 2 * d; d >= slowest {
			return jitter(slowest)
		}
	}
	return jitter(d)
}
