package jobs

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// Note reads what became of the earlier deliveries of a task's message, of that
// sequence in its stream. Nothing is known of one that nobody noted.
func (s *Store) Note(ctx context.Context, t *Task, sequence uint64) (*pb.Note, error) {
	n, _, err := s.note(ctx, t, sequence)
	return n, err
}

// note is Note, and what a change must replace.
func (s *Store) note(ctx context.Context, t *Task, sequence uint64) (n *pb.Note, fence uint64, err error) {
	n = &pb.Note{}
	msg, err := s.last(ctx, stream.Naks, stream.NakSubject(t.GetJob(), t.GetItem(), t.GetStep()), n)
	switch {
	case failure.KindOf(err) == failure.NotFound:
	case err != nil:
		return nil, 0, err
	default:
		if fence = msg.Sequence; n.GetAttempt() == t.GetAttempt() && n.GetSequence() == sequence {
			return n, fence, nil
		}
	}
	return &pb.Note{Attempt: t.GetAttempt(), Sequence: sequence}, fence, nil
}

// ChangeNote changes what is known of the deliveries of a task's message, beside
// others that change it. The same change again, by its name, counts once.
func (s *Store) ChangeNote(ctx context.Context, t *Task, sequence uint64, name string, change func(*pb.Note)) error {
	subject := stream.NakSubject(t.GetJob(), t.GetItem(), t.GetStep())
	id := fmt.Sprintf("%s:%d:%d:%d:%d:%s", t.GetJob(), t.GetItem(), t.GetStep(), t.GetAttempt(), sequence, name)
	for range maxUpdates {
		n, fence, err := s.note(ctx, t, sequence)
		if err != nil {
			return err
		}
		change(n)
		err = s.publish(ctx, subject, nil, n, jetstream.WithMsgID(id), jetstream.WithExpectLastSequencePerSubject(fence), jetstream.WithExpectStream(stream.Naks))
		if err == nil || failure.KindOf(err) != failure.Conflict {
			return err
		}
	}
	return failure.New(failure.Unavailable, "the note of item %d of job %q changes too often", t.GetItem(), t.GetJob())
}
