package worker

import (
	"context"
	"strconv"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// noteWithin bounds the writing of a note at the end of the process.
const noteWithin = time.Second

// excuse gives a task back for trouble that may pass: the delivery does not count
// as an attempt.
func (w *work) excuse(ctx context.Context, why error, reason string) {
	telemetry.Fail(w.span, why)
	after := max(w.backoff(w.note.GetExcused()), failure.RetryAfter(why))
	if reason == nakStop || reason == nakAlone {
		after = jitter(w.door.cfg.Delay)
	}
	if ctx.Err() != nil {
		after = 0 // others may take it at once
	}
	w.excused(ctx)
	if w.delivery.nak(after) {
		w.metrics.nak(reason)
	}
	w.door.tel.Logger.DebugContext(ctx, "a task was given back", "job", w.task.GetJob(), "item", w.task.GetItem(), "model", w.model, "reason", reason, "error", why)
}

// fail counts an attempt that failed; after the last the item is given up.
func (w *work) fail(ctx context.Context, why error) {
	w.task.Failed++
	w.door.tel.Logger.WarnContext(ctx, "a task failed", "job", w.task.GetJob(), "item", w.task.GetItem(), "model", w.model, "attempt", w.task.Failed, "error", why)
	if w.task.Failed >= uint32(w.door.cfg.Attempts) {
		w.bury(ctx, why)
		return
	}
	w.failed(ctx, why)
	if w.delivery.nak(w.backoff(w.task.Failed - 1)) {
		w.metrics.nak(nakFailed)
	}
}

// excused sees to it that the delivery does not count. What can't be noted now is
// noted later, and until then this worker knows.
func (w *work) excused(ctx context.Context) {
	e, ok := w.delivery.excuse()
	if ok && w.remember(ctx, func(ctx context.Context) error { return e.note(ctx, w.door.store) }) != nil {
		w.door.owed.add(e)
	}
}

// failed sees to it that the delivery counts as one that failed. If that can't be
// noted it counts as one that never ended.
func (w *work) failed(ctx context.Context, why error) {
	name := strconv.FormatUint(w.delivery.meta.NumDelivered, 10) + ".failed"
	_ = w.remember(ctx, func(ctx context.Context) error {
		return w.door.store.ChangeNote(ctx, w.task, w.delivery.meta.Sequence.Stream, name, func(n *pb.Note) {
			n.Failed++
			n.Error = errorOf(why)
		})
	})
}

// remember has something noted of the task, which is held until then, but no longer
// than a task is held. At the end of the process it has little time.
func (w *work) remember(ctx context.Context, note func(context.Context) error) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
	}
	return w.persist(ctx, note)
}

// refuse gives back a task that nobody has looked at.
func (p *puller) refuse(d *delivery, reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
	defer cancel()
	_, task, err := p.door.store.ReadTask(ctx, d.msg.Header, d.msg.Data)
	if err == nil {
		d.read(task)
		if e, ok := d.excuse(); ok {
			if err = e.note(ctx, p.door.store); err != nil {
				p.door.owed.add(e)
			}
		}
	}
	if err != nil {
		p.door.tel.Logger.DebugContext(ctx, "a task was given back without a note", "model", p.model, "error", err)
	}
	if d.nak(jitter(p.door.cfg.Delay)) {
		p.metrics.nak(reason)
	}
}
