package jobs

import (
	"context"
	"errors"
	"maps"
	"strconv"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/pipeline"
	"triptych/shared/stream"
)

// Begin starts an item: its first steps are put into their queues.
func (s *Store) Begin(ctx context.Context, t *Task) error {
	pool := t.Plan.NewPool(t.GetPool())
	for _, step := range t.Plan.First() {
		if err := s.Enqueue(ctx, t.at(step, pool)); err != nil {
			return err
		}
	}
	return nil
}

// at is the task of another step of the same item.
func (t *Task) at(step int, pool pipeline.Pool) *Task {
	return &Task{Plan: t.Plan, Deadline: t.Deadline, Root: t.Root, From: t.From, Task: &pb.Task{
		Job: t.GetJob(), Item: t.GetItem(), Step: uint32(step), Plan: t.GetPlan(), Fence: t.GetFence(), Attempt: t.GetAttempt(), Times: t.GetTimes(), Name: t.GetName(),
		Pool: poolOf(t.Plan, step, pool, t.GetPool()),
	}}
}

// Advance stores what follows from a step's answer: the tasks of the steps after
// it, its part of a join, or the item's verdict. When it returns nil all of that is
// stored, and the task may be acknowledged. Done twice, it has the effect of once.
func (s *Store) Advance(ctx context.Context, t *Task, resp *inference.ModelInferResponse) error {
	if err := s.fetch(ctx, t); err != nil { // nothing is left to fetch after Request
		return err
	}
	pool := t.Plan.NewPool(t.GetPool())
	if err := t.Plan.Take(int(t.GetStep()), resp, pool); err != nil {
		return err
	}
	for _, next := range t.Plan.Next(int(t.GetStep())) {
		if err := s.pass(ctx, t, next, pool); err != nil {
			return err
		}
	}
	return nil
}

// pass hands an item's tensors to a step, or to the join before it when it waits
// for others too.
func (s *Store) pass(ctx context.Context, t *Task, next int, pool pipeline.Pool) error {
	if after := t.Plan.After(next); len(after) > 1 {
		joined, err := s.join(ctx, t.at(next, pool), after, t.GetStep())
		if joined == nil || err != nil {
			return err
		}
		if err := s.follow(ctx, joined, next, t.Plan.NewPool(joined.GetPool())); err != nil {
			return err
		}
		return s.forget(ctx, joined, after)
	}
	return s.follow(ctx, t, next, pool)
}

// follow stores what comes next, a step's task or the verdict.
func (s *Store) follow(ctx context.Context, t *Task, next int, pool pipeline.Pool) error {
	if next == t.Plan.End() {
		return s.succeed(ctx, t, pool)
	}
	return s.Enqueue(ctx, t.at(next, pool))
}

// forget drops the parts of a join that has been passed on. Who is as late as to
// find some of them gone takes the join for open, and leaves it: it has been passed
// on.
func (s *Store) forget(ctx context.Context, joined *Task, after []int) error {
	var failed error
	for _, from := range after {
		failed = errors.Join(failed, s.Purge(ctx, stream.Notes, stream.JoinSubject(joined.GetJob(), joined.GetItem(), joined.GetAttempt(), joined.GetStep(), uint32(from))))
	}
	return errors.Join(failed, s.Done(ctx, joined))
}

// join stores one part of what a step waits for and gives the whole when all parts
// are there, else nil. Each part is stored before the others are read, so whoever
// is last sees all; two who are last both go on, and do the same.
func (s *Store) join(ctx context.Context, part *Task, after []int, from uint32) (*Task, error) {
	if err := s.fit(ctx, part); err != nil {
		return nil, err
	}
	step := strconv.Itoa(int(part.GetStep()))
	subject := func(from uint32) string {
		return stream.JoinSubject(part.GetJob(), part.GetItem(), part.GetAttempt(), part.GetStep(), from)
	}
	if err := s.publish(ctx, subject(from), nil, part.Task); err != nil {
		return nil, failure.Prefix("the join before step "+step, err)
	}
	whole := &Task{Plan: part.Plan, Deadline: part.Deadline, Root: part.Root, From: part.From}
	pool := pipeline.Pool{}
	for _, source := range after {
		stored := &pb.Task{}
		if _, err := s.last(ctx, stream.Notes, subject(uint32(source)), stored); err != nil {
			if failure.KindOf(err) == failure.NotFound {
				return nil, nil
			}
			return nil, err
		}
		one := &Task{Task: stored, Plan: part.Plan, Deadline: part.Deadline}
		err := s.fetch(ctx, one)
		if errors.Is(err, ErrLost) {
			return nil, nil // somebody else has passed the join on
		}
		if err != nil {
			return nil, err
		}
		whole.used = append(whole.used, one.used...)
		maps.Copy(pool, part.Plan.NewPool(stored.GetPool()))
		times := stored.GetTimes()
		if whole.Task == nil {
			whole.Task = stored
			continue
		}
		whole.Times = append(whole.Times, fresh(whole.Times, times)...)
	}
	whole.Pool = poolOf(part.Plan, int(part.GetStep()), pool, part.GetPool())
	return whole, nil
}

// fresh are the times of steps that are not among those known: branches have their
// beginning in common.
func fresh(known, times []*pb.StepTime) []*pb.StepTime {
	var list []*pb.StepTime
	for _, t := range times {
		seen := false
		for _, k := range known {
			seen = seen || k.GetStep() == t.GetStep()
		}
		if !seen {
			list = append(list, t)
		}
	}
	return list
}

// succeed writes the verdict of an item whose last step has answered.
func (s *Store) succeed(ctx context.Context, t *Task, pool pipeline.Pool) error {
	resp := t.Plan.Answer(pool)
	wanted := &inference.ModelInferResponse{Id: t.GetPool().GetId()}
	for _, out := range resp.GetOutputs() {
		if tensor, ok := oip.Output(resp, out.GetName()); ok && oip.Wanted(t.GetPool(), out.GetName()) {
			oip.AddOutput(wanted, tensor)
		}
	}
	_, err := s.Decide(ctx, t.Verdict(ctx, &pb.Verdict{Outcome: pb.Outcome_OUTCOME_SUCCEEDED, Response: wanted}), t.GetFence())
	return err
}
