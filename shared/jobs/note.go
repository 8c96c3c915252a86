package jobs

import (
	"context"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// Note reads what became of the earlier deliveries of a task's message, of that
// sequence in its stream. Nothing is known of one that nobody noted.
func (s *Store) Note(ctx context.Context, t *Task, sequence uint64) (*pb.Note, error) {
	n := &pb.Note{}
	_, err := s.last(ctx, stream.Notes, stream.NakSubject(t.GetJob(), t.GetItem(), t.GetStep()), n)
	if err == nil && n.GetAttempt() == t.GetAttempt() && n.GetSequence() == sequence {
		return n, nil
	}
	if failure.KindOf(err) == failure.NotFound {
		err = nil
	}
	return &pb.Note{Attempt: t.GetAttempt(), Sequence: sequence}, err
}

// PutNote keeps a note of a task.
func (s *Store) PutNote(ctx context.Context, t *Task, n *pb.Note) error {
	return s.publish(ctx, stream.NakSubject(t.GetJob(), t.GetItem(), t.GetStep()), nil, n)
}
