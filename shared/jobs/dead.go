package jobs

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// Bury gives an item up: its verdict says that it is dead, and then its dead
// letter is stored. When there is a verdict already that is kept; a dead one whose
// letter is missing gets it.
func (s *Store) Bury(ctx context.Context, v *pb.Verdict, fence uint64) error {
	v.Outcome = pb.Outcome_OUTCOME_DEAD
	won, err := s.Decide(ctx, v, fence)
	if err != nil {
		return err
	}
	if won {
		if err := s.putDead(ctx, v); err != nil {
			return err
		}
	}
	return s.RepairDead(ctx, v.GetJob(), v.GetItem())
}

// RepairDead makes the dead letters agree with an item's verdict: there is one if
// the verdict is dead, and none otherwise.
func (s *Store) RepairDead(ctx context.Context, job string, item uint32) error {
	subject := stream.DeadSubject(job, strconv.FormatUint(uint64(item), 10))
	letter, err := s.last(ctx, stream.Dead, subject, &pb.Verdict{})
	if err != nil && failure.KindOf(err) != failure.NotFound {
		return err
	}
	v, _, err := s.Verdict(ctx, job, item)
	switch {
	case err != nil:
		return err
	case v.GetOutcome() != pb.Outcome_OUTCOME_DEAD && letter != nil:
		return s.delete(ctx, stream.Dead, letter.Sequence)
	case v.GetOutcome() == pb.Outcome_OUTCOME_DEAD && letter == nil:
		if err := s.putDead(ctx, v); err != nil {
			return err
		}
		// Whoever put the item back meanwhile has found no letter.
		return s.RepairDead(ctx, job, item)
	}
	return nil
}

func (s *Store) putDead(ctx context.Context, v *pb.Verdict) error {
	letter, ok := proto.Clone(v).(*pb.Verdict)
	if !ok {
		return failure.New(failure.Internal, "a verdict can't be copied")
	}
	letter.Response, letter.ResponseBlob = nil, nil
	return s.publish(ctx, stream.DeadSubject(v.GetJob(), strconv.FormatUint(uint64(v.GetItem()), 10)), nil, letter, jetstream.WithExpectStream(stream.Dead))
}

// Requeue puts a dead item back: its verdict is replaced by a mark, which whoever
// feeds sees, and its letter goes. An item that is not dead is Conflict; its letter
// goes all the same, for whoever put it back may have ended before that.
func (s *Store) Requeue(ctx context.Context, job string, item uint32) error {
	v, sequence, err := s.Verdict(ctx, job, item)
	if err != nil {
		return err
	}
	if v.GetOutcome() != pb.Outcome_OUTCOME_DEAD {
		if err := s.RepairDead(ctx, job, item); err != nil {
			return err
		}
		return failure.New(failure.Conflict, "item %d of job %q is not dead but %s", item, job, OutcomeName(v.GetOutcome()))
	}
	mark := &pb.Verdict{Job: job, Item: item, Outcome: pb.Outcome_OUTCOME_REQUEUED, Started: v.GetStarted(), TraceId: v.GetTraceId(), Name: v.GetName()}
	won, err := s.Decide(ctx, mark, sequence)
	if err != nil {
		return err
	}
	if !won {
		return failure.New(failure.Conflict, "item %d of job %q was put back by somebody else", item, job)
	}
	return s.RepairDead(ctx, job, item)
}

// PurgeDead deletes the dead letter of an item. Its verdict says so, and else stays:
// whoever finds a dead verdict without its letter writes the letter anew. An item that
// is not dead is Conflict, and loses its letter if it has one.
func (s *Store) PurgeDead(ctx context.Context, job string, item uint32) error {
	v, sequence, err := s.Verdict(ctx, job, item)
	if err != nil {
		return err
	}
	if v.GetOutcome() != pb.Outcome_OUTCOME_DEAD {
		if err := s.RepairDead(ctx, job, item); err != nil {
			return err
		}
		return failure.New(failure.Conflict, "item %d of job %q is not dead but %s", item, job, OutcomeName(v.GetOutcome()))
	}
	v.Outcome = pb.Outcome_OUTCOME_PURGED
	won, err := s.Decide(ctx, v, sequence)
	if err != nil {
		return err
	}
	if !won {
		return failure.New(failure.Conflict, "item %d of job %q was put back or purged by somebody else", item, job)
	}
	return s.RepairDead(ctx, job, item)
}

// Dead reads an item's dead letter. NotFound when there is none.
func (s *Store) Dead(ctx context.Context, job string, item uint32) (*pb.Verdict, error) {
	v := &pb.Verdict{}
	_, err := s.last(ctx, stream.Dead, stream.DeadSubject(job, strconv.FormatUint(uint64(item), 10)), v)
	return v, err
}
