package feed

import (
	"context"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
)

// maxTries is how often an item that can't be started for no known reason is tried
// before it is given up.
const maxTries = 3

// launch starts an item.
func (t *term) launch(w *piece) {
	f, record := w.flight, w.job.record
	t.fly(w.job, f)
	t.starting++
	t.metrics.started.WithLabelValues(w.job.road.name).Inc()
	t.begin(w, record)
	t.spawn(func(context.Context) { t.started(w, t.start(f.ctx, w, record)) })
}

// start puts an item into its first queues, or writes the verdict of one that can't
// be run. An error is one that may pass.
func (t *term) start(ctx context.Context, w *piece, record *pb.Job) error {
	if wrong := w.item.GetError(); wrong != nil {
		return t.fail(ctx, w, record, wrong)
	}
	task, err := t.task(ctx, w, record)
	if err == nil {
		err = t.store.Begin(ctx, task)
	}
	if err == nil || passing(err) {
		return err
	}
	if failure.KindOf(err) != failure.Internal {
		return t.fail(ctx, w, record, problem(err))
	}
	if w.flight.tries++; w.flight.tries < maxTries {
		return err
	}
	v := t.verdict(w, record, &pb.Verdict{Error: problem(err), Attempts: maxTries})
	return t.store.Bury(ctx, v, w.flight.fence)
}

// passing tells whether an error says nothing of the item.
func passing(err error) bool {
	switch failure.KindOf(err) {
	case failure.Busy, failure.Unavailable, failure.Cancelled, failure.Deadline:
		return true
	default:
		return false
	}
}

func problem(err error) *pb.Error {
	return &pb.Error{Kind: failure.KindOf(err).String(), Message: failure.Message(err)}
}

// fail writes the verdict of an item that can't be run, by its own fault.
func (t *term) fail(ctx context.Context, w *piece, record *pb.Job, wrong *pb.Error) error {
	_, err := t.store.Decide(ctx, t.verdict(w, record, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_FAILED, Error: wrong}), w.flight.fence)
	return err
}

// verdict completes the verdict of an item in hand.
func (t *term) verdict(w *piece, record *pb.Job, v *pb.Verdict) *pb.Verdict {
	v.Job, v.Item, v.Name, v.RequestId = record.GetId(), w.item.GetIndex(), w.item.GetName(), record.GetRequestId()
	v.Started, v.TraceId = w.flight.attempt, w.flight.trace()
	return v
}

// started takes the end of a start.
func (t *term) started(w *piece, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.nudge()
	t.starting--
	j, f, now := w.job, w.flight, time.Now()
	if err == nil {
		f.begun, f.since = true, now
		j.road.pause = 0
		return
	}
	j.road.slow(now)
	if j.flights[f.item] != f {
		return // it has its verdict, or the job has gone
	}
	if failure.KindOf(err) == failure.Internal {
		t.tel.Logger.Warn("an item of a job can't be started", "job", j.record.GetId(), "item", f.item, "error", err)
	}
	t.land(j, f)
	if j.ending || !w.page.undecided[f.item] {
		f.end(pb.Outcome_OUTCOME_UNSPECIFIED)
		return
	}
	w.page.queued[f.item] = true
	j.again = append(j.again, w)
	j.road.enlist(j)
}

// task is the task of an item's beginning.
func (t *term) task(ctx context.Context, w *piece, record *pb.Job) (*jobs.Task, error) {
	pool, err := t.pool(ctx, record, w.item)
	if err != nil {
		return nil, err
	}
	task := &jobs.Task{Plan: w.job.plan, Task: &pb.Task{
		Job: record.GetId(), Item: w.item.GetIndex(), Plan: record.GetPlan(), Pool: pool, Fence: w.flight.fence, Attempt: w.flight.attempt, Name: w.item.GetName(),
	}}
	if ms := record.GetDeadlineMs(); ms > 0 {
		task.Deadline = time.UnixMilli(ms)
	}
	return task, nil
}
