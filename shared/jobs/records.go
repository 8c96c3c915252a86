package jobs

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// Records is the bucket of job records, idempotency keys and the lease. That it is not
// there is not to be taken for a record that is not there: it is Unavailable.
func (s *Store) Records(ctx context.Context) (jetstream.KeyValue, error) {
	if known := s.records.Load(); known != nil {
		return *known, nil
	}
	kv, err := s.conn.JetStream().KeyValue(ctx, stream.Records)
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "the job store has no bucket %s", stream.Records)
	}
	s.records.Store(&kv)
	return kv, nil
}

// Create stores the record of a job that is complete: from then on it is accepted.
// An id that ever had a record, or was made void, is Conflict.
func (s *Store) Create(ctx context.Context, job *pb.Job) error {
	kv, err := s.Records(ctx)
	if err != nil {
		return err
	}
	data, err := proto.Marshal(job)
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the record of a job can't be written")
	}
	_, err = kv.Update(ctx, stream.JobRecord(job.GetId()), data, 0)
	return stream.Failure(err)
}

// Job reads the record of a job. NotFound when there is none.
func (s *Store) Job(ctx context.Context, id string) (*pb.Job, error) {
	job, _, err := s.record(ctx, id)
	return job, err
}

// maxID bounds an id that is asked for: it becomes part of a subject, and NATS ends a
// connection that sends one that is too long.
const maxID = 64

func (s *Store) record(ctx context.Context, id string) (*pb.Job, uint64, error) {
	if len(id) > maxID {
		return nil, 0, failure.New(failure.NotFound, "unknown job %s", failure.Quote(id))
	}
	kv, err := s.Records(ctx)
	if err != nil {
		return nil, 0, err
	}
	entry, err := kv.Get(ctx, stream.JobRecord(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, 0, failure.New(failure.NotFound, "unknown job %s", failure.Quote(id))
	}
	if err != nil {
		return nil, 0, stream.Failure(err)
	}
	job := &pb.Job{}
	if err := proto.Unmarshal(entry.Value(), job); err != nil {
		return nil, 0, failure.Wrap(err, failure.Internal, "the record of job %q can't be read", id)
	}
	return job, entry.Revision(), nil
}

// maxUpdates bounds how often a record is read anew because somebody else wrote it.
const maxUpdates = 10

// Update changes the record of a job, by compare-and-set. Change may be called more
// than once, each time with the present record; its error ends the update. The
// record is returned as it is then.
func (s *Store) Update(ctx context.Context, id string, change func(*pb.Job) error) (*pb.Job, error) {
	kv, err := s.Records(ctx)
	if err != nil {
		return nil, err
	}
	for range maxUpdates {
		job, revision, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(job); err != nil {
			return job, err
		}
		data, err := proto.Marshal(job)
		if err != nil {
			return nil, failure.Wrap(err, failure.Internal, "the record of job %q can't be written", id)
		}
		_, err = kv.Update(ctx, stream.JobRecord(id), data, revision)
		if err == nil {
			return job, nil
		}
		if failure.KindOf(stream.Failure(err)) != failure.Conflict {
			return nil, stream.Failure(err)
		}
	}
	return nil, failure.New(failure.Unavailable, "the record of job %q changes too often", id)
}
