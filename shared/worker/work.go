package worker

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// work is one delivery of a task on its way to its end.
type work struct {
	*puller
	task     *jobs.Task
	delivery *delivery
	span     trace.Span
	note     *pb.Note // of the deliveries before; nil while nobody has asked
	lost     uint32   // deliveries that nobody ended: their worker died
}

// work takes a delivery to its end: what follows from it is stored, or it is given
// back, or its item is given up.
func (p *puller) work(ctx context.Context, d *delivery) {
	ctx, task, err := p.door.store.ReadTask(ctx, d.msg.Header, d.msg.Data)
	if err != nil {
		p.unreadable(ctx, d, err)
		return
	}
	d.read(task)
	w := &work{puller: p, task: task, delivery: d}
	ctx, w.span = p.start(ctx, task, d)
	defer w.span.End()
	if w.history(ctx) && w.wanted(ctx) {
		w.answer(ctx)
	}
}

// history looks at what became of earlier deliveries, and tells whether the task
// is still to be done.
func (w *work) history(ctx context.Context) bool {
	if w.delivery.earlier() == 0 {
		return true
	}
	var owed uint32
	err := w.persist(ctx, func(ctx context.Context) error {
		v, err := w.door.store.Decided(ctx, w.task.GetJob(), w.task.GetItem(), w.task.GetFence())
		if err != nil {
			return err
		}
		if v != nil {
			return w.leave(ctx, v)
		}
		owed = w.door.owed.of(w.task, w.delivery.meta.Sequence.Stream)
		w.note, err = w.door.store.Note(ctx, w.task, w.delivery.meta.Sequence.Stream)
		return err
	})
	switch {
	case errors.Is(err, errSettled):
		w.done(ctx, outcomeStale)
		return false
	case err != nil:
		w.conclude(ctx, err)
		return false
	}
	w.lost = less(w.delivery.earlier(), owed+w.note.GetExcused()+w.note.GetFailed())
	w.task.Failed = w.lost + w.note.GetFailed()
	return true
}

func less(a, b uint32) uint32 { return a - min(a, b) }

// errSettled says that a task needs no run.
var errSettled = errors.New("the item has its verdict")

// leave leaves an item that has its verdict, once the dead letter agrees with it.
func (w *work) leave(ctx context.Context, v *pb.Verdict) error {
	if v.GetOutcome() == pb.Outcome_OUTCOME_DEAD {
		if err := w.door.store.RepairDead(ctx, v.GetJob(), v.GetItem()); err != nil {
			return err
		}
	}
	return errSettled
}

// wanted tells whether the task is to be run now; if not, it has been ended.
func (w *work) wanted(ctx context.Context) bool {
	switch {
	case w.door.cancelled.has(w.task.GetJob()):
		w.decide(ctx, pb.Outcome_OUTCOME_CANCELLED, failure.New(failure.Cancelled, "the job was cancelled"))
	case w.expired():
		w.expire(ctx)
	case w.task.Failed >= uint32(w.door.cfg.Attempts):
		w.bury(ctx, w.why())
	default:
		return true
	}
	return false
}

// why is the failure of an item whose last attempt ended without a word.
func (w *work) why() error {
	if e := w.note.GetError(); e != nil && w.note.GetFailed() >= w.lost {
		return failure.New(failure.Internal, "%s", e.GetMessage())
	}
	return failure.New(failure.Internal, "%d of %d runs of model %q never ended: whoever ran it was lost", w.lost, w.task.Failed, w.task.Model())
}

func (w *work) expired() bool {
	return !w.task.Deadline.IsZero() && !w.door.now().Before(w.task.Deadline)
}

func (w *work) expire(ctx context.Context) {
	w.decide(ctx, pb.Outcome_OUTCOME_EXPIRED, failure.New(failure.Deadline, "the deadline of the item passed before model %q had run", w.task.Model()))
}

// answer runs the model and passes on what it says.
func (w *work) answer(ctx context.Context) {
	if w.lost > 0 {
		if err := w.door.house.alone(ctx, w.door.cfg.Hold); err != nil {
			w.excuse(ctx, err, nakAlone)
			return
		}
		defer w.door.house.open()
	}
	resp, err := w.run(ctx)
	if err == nil {
		w.task.Times = append(w.task.Times, w.times(resp))
		err = w.persist(ctx, func(ctx context.Context) error { return w.door.store.Advance(ctx, w.task, resp) })
		if err != nil && mayPass(err) {
			w.excuse(ctx, err, nakFull)
			return
		}
	}
	telemetry.Fail(w.span, err)
	w.conclude(ctx, err)
}

// run runs the model, in its lane. Tensors of the object store are fetched there,
// for they are what is large: no more of them are in memory than tasks may run.
func (w *work) run(ctx context.Context) (*inference.ModelInferResponse, error) {
	if err := w.lanes.enter(ctx); err != nil {
		return nil, err
	}
	took := time.Duration(0)
	defer func() { w.lanes.leave(took) }()
	req, err := w.door.store.Request(ctx, w.task)
	if err != nil {
		return nil, err
	}
	if !w.task.Deadline.IsZero() {
		var cancel context.CancelFunc
		// What is left is measured once: from here on a clock that is set does no harm.
		ctx, cancel = context.WithTimeout(ctx, w.task.Deadline.Sub(w.door.now()))
		defer cancel()
	}
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	begun := time.Now()
	resp, err := w.door.models.ModelInfer(call.With(ctx, call.Info{RequestID: call.Of(ctx).RequestID, Bulk: true}), req)
	took = time.Since(begun)
	if us := microseconds(resp, modelserver.ComputeParameter); us > 0 {
		took = min(took, time.Duration(us)*time.Microsecond)
	}
	return resp, err
}

// times are where the time of the step went.
func (w *work) times(resp *inference.ModelInferResponse) *pb.StepTime {
	return &pb.StepTime{
		Step: w.task.GetStep(), Model: w.task.Model(), Version: resp.GetModelVersion(), WaitedUs: w.delivery.waited().Microseconds(),
		QueueUs: microseconds(resp, modelserver.QueueParameter), ComputeUs: microseconds(resp, modelserver.ComputeParameter),
	}
}

func microseconds(resp *inference.ModelInferResponse, parameter string) int64 {
	us, err := oip.IntParameter(resp.GetParameters(), parameter, 0)
	if err != nil {
		return 0
	}
	return us
}
