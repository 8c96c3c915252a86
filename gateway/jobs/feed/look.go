package feed

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/pipeline"
	"triptych/shared/stream"
)

// grace is how long after the connection came back what is on its way is looked
// for: workers that still hold a task come back too.
const grace = time.Second

// suspect makes all that is on its way be looked for soon: the server may have lost
// what it had in memory.
func (t *term) suspect(now time.Time) {
	since := now.Add(min(grace, t.cfg.LostAfter) - t.cfg.LostAfter)
	for _, j := range t.jobs {
		for _, f := range j.flights {
			if f.begun && f.since.After(since) {
				f.since = since
			}
		}
	}
}

// look looks for the items of a job that have been on their way for long.
func (t *term) look(j *job, now time.Time) {
	if j.looking || j.ending || !j.listed {
		return
	}
	var late []*flight
	for _, f := range j.flights {
		if f.begun && now.Sub(f.since) >= t.cfg.LostAfter {
			late = append(late, f)
		}
	}
	if len(late) == 0 {
		return
	}
	j.looking = true
	id, plan := j.record.GetId(), j.plan
	t.spawn(func(ctx context.Context) {
		lost, err := t.missing(ctx, plan, id, late)
		t.mu.Lock()
		defer t.mu.Unlock()
		defer t.nudge()
		j.looking = false
		if err != nil || t.jobs[id] != j {
			return
		}
		t.restart(j, late, lost)
	})
}

// missing gives those of the items that are nowhere: neither in a queue nor decided.
// The queues are looked at in the order in which items pass through them, and the
// verdicts last, for each worker stores what follows before it lets go of a task.
func (t *term) missing(ctx context.Context, plan *pipeline.Plan, id string, late []*flight) (map[*flight]uint64, error) {
	alive, err := t.alive(ctx, plan, id)
	if err != nil {
		return nil, err
	}
	lost := map[*flight]uint64{}
	for _, f := range late {
		if alive[f.item] {
			continue
		}
		v, sequence, err := t.store.Verdict(ctx, id, f.item)
		switch {
		case failure.KindOf(err) == failure.NotFound:
			lost[f] = 0
		case err != nil:
			return nil, err
		case v.GetOutcome() == pb.Outcome_OUTCOME_REQUEUED:
			lost[f] = sequence
		}
	}
	return lost, nil
}

// alive are the items of a job that have a message in a queue.
func (t *term) alive(ctx context.Context, plan *pipeline.Plan, id string) (map[uint32]bool, error) {
	alive := map[uint32]bool{}
	for _, step := range inOrder(plan) {
		model := plan.Steps()[step].Model
		subjects, err := t.store.Subjects(ctx, stream.StepStream(model), stream.StepSubjects(model, id, uint32(step)))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // nothing was ever put into it, or it was lost with its memory
		}
		if err != nil {
			return nil, err
		}
		for subject := range subjects {
			if task, ok := stream.StepOf(subject); ok {
				alive[task.Item] = true
			}
		}
	}
	return alive, nil
}

// inOrder are the steps of a plan, each after those that it waits for.
func inOrder(plan *pipeline.Plan) []int {
	order := make([]int, 0, plan.End())
	for len(order) < plan.End() {
		before := len(order)
		for step := range plan.End() {
			ready := !slices.Contains(order, step)
			for _, first := range plan.After(step) {
				ready = ready && slices.Contains(order, first)
			}
			if ready {
				order = append(order, step)
			}
		}
		if len(order) == before {
			return order // a circle: no plan has one
		}
	}
	return order
}

// restart makes lost items be started again, from their input; the others have
// been seen. A mark that has come since they were started is their fence then.
func (t *term) restart(j *job, late []*flight, lost map[*flight]uint64) {
	now := time.Now()
	for _, f := range late {
		fence, gone := lost[f]
		if !gone || j.flights[f.item] != f {
			f.since = now
			continue
		}
		t.land(j, f)
		t.metrics.lost.Inc()
		f.attempt++
		f.begun, f.fence = false, fence
		j.lost[f.item] = f
		j.reread(f.page.number)
	}
	if len(lost) > 0 {
		t.tel.Logger.Info("items of a job were lost on their way and are started again", "job", j.record.GetId(), "items", len(lost))
		j.road.enlist(j)
	}
}

// search looks after a job of which nothing moves although items are undecided: all
// its pages are read again, and when that does not help, the input is gone.
func (t *term) search(j *job, now time.Time) {
	if !j.still() || now.Sub(j.quiet) < t.cfg.LostAfter {
		return
	}
	j.quiet = now
	if j.searched {
		t.finish(j, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_FAILED, Error: problem(failure.New(failure.Internal, "the input of the item is gone"))})
		return
	}
	j.searched, j.listed, j.inherited, j.suspects = true, false, true, t.cfg.Credit
	j.road.enlist(j)
}
