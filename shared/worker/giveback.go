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
	w.remember(ctx, func(n *pb.Note) { n.Excused++ })
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
	w.remember(ctx, func(n *pb.Note) {
		n.Failed++
		n.Error = errorOf(why)
	})
	if w.delivery.nak(w.backoff(w.task.Failed - 1)) {
		w.metrics.nak(nakFailed)
	}
}

// remember changes the note of the task. It holds the task until that is stored,
// for what is not noted counts against the item; at the end of the process it tries
// once.
func (w *work) remember(ctx context.Context, change func(*pb.Note)) {
	ending := ctx.Err() != nil
	if ending {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
	}
	var note *pb.Note
	put := func(ctx context.Context) (err error) {
		if note == nil {
			if w.note == nil {
				if w.note, err = w.door.store.Note(ctx, w.task, w.delivery.meta.Sequence.Stream); err != nil {
					return err
				}
			}
			note = w.note
			change(note)
		}
		return w.door.store.PutNote(ctx, w.task, note)
	}
	for {
		err := w.persist(ctx, put)
		if err == nil || ending || ctx.Err() != nil || !mayPass(err) {
			return
		}
	}
}

// refuse gives back a task that nobody has looked at.
func (p *puller) refuse(d *delivery, reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
	defer cancel()
	_, task, err := p.door.store.ReadTask(ctx, d.msg.Header, d.msg.Data)
	if err == nil {
		var note *pb.Note
		if note, err = p.door.store.Note(ctx, task, d.meta.Sequence.Stream); err == nil {
			note.Excused++
			err = p.door.store.PutNote(ctx, task, note)
		}
	}
	if err != nil {
		p.door.tel.Logger.DebugContext(ctx, "a task was given back without a note", "model", p.model, "error", err)
	}
	if d.nak(jitter(p.door.cfg.Delay)) {
		p.metrics.nak(reason)
	}
}
