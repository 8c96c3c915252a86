package worker

import (
	"context"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// noteWithin bounds the writing of a note at the end of the process.
const noteWithin = time.Second

// nakExcused names the change of a note for trouble that may pass.
const nakExcused = "excused"

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
	w.remember(ctx, nakExcused, func(n *pb.Note) { n.Excused++ })
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
	w.remember(ctx, nakFailed, func(n *pb.Note) {
		n.Failed++
		n.Error = errorOf(why)
	})
	if w.delivery.nak(w.backoff(w.task.Failed - 1)) {
		w.metrics.nak(nakFailed)
	}
}

// remember changes the note of the task. It holds the task until that is stored, but
// no longer than a task is held: what is not noted counts against the item. At the end
// of the process it tries once.
func (w *work) remember(ctx context.Context, name string, change func(*pb.Note)) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
	}
	err := w.persist(ctx, func(ctx context.Context) error {
		return w.door.store.ChangeNote(ctx, w.task, w.delivery.meta.Sequence.Stream, w.delivery.name(name), change)
	})
	if err != nil {
		w.door.tel.Logger.WarnContext(ctx, "a task is given back without a note: that counts as a failed attempt", "job", w.task.GetJob(), "item", w.task.GetItem(), "model", w.model, "error", err)
	}
}

// refuse gives back a task that nobody has looked at.
func (p *puller) refuse(d *delivery, reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
	defer cancel()
	_, task, err := p.door.store.ReadTask(ctx, d.msg.Header, d.msg.Data)
	if err == nil {
		err = p.door.store.ChangeNote(ctx, task, d.meta.Sequence.Stream, d.name(nakExcused), func(n *pb.Note) { n.Excused++ })
	}
	if err != nil {
		p.door.tel.Logger.DebugContext(ctx, "a task was given back without a note", "model", p.model, "error", err)
	}
	if d.nak(jitter(p.door.cfg.Delay)) {
		p.metrics.nak(reason)
	}
}
