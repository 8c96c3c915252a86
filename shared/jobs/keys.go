package jobs

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// Key reads which job an idempotency key stands for: a record of which only the id
// and the digest are set. NotFound when the key is not in use.
func (s *Store) Key(ctx context.Context, hash []byte) (job *pb.Job, revision uint64, err error) {
	kv, err := s.Records(ctx)
	if err != nil {
		return nil, 0, err
	}
	entry, err := kv.Get(ctx, stream.KeyRecord(hash))
	if err != nil {
		return nil, 0, stream.Failure(err)
	}
	job = &pb.Job{}
	if err := proto.Unmarshal(entry.Value(), job); err != nil {
		return nil, 0, failure.Wrap(err, failure.Internal, "the record of an idempotency key can't be read")
	}
	return job, entry.Revision(), nil
}

// ClaimKey makes a job's idempotency key stand for the job, which is to be created
// next. Revision is that of what Key gave, 0 for nothing; Conflict means that
// somebody else was first.
func (s *Store) ClaimKey(ctx context.Context, job *pb.Job, revision uint64) error {
	kv, err := s.Records(ctx)
	if err != nil {
		return err
	}
	data, err := proto.Marshal(&pb.Job{Id: job.GetId(), Digest: job.GetDigest()})
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the record of an idempotency key can't be written")
	}
	key := stream.KeyRecord(job.GetIdempotency())
	if revision > 0 {
		_, err = kv.Update(ctx, key, data, revision)
		return stream.Failure(err)
	}
	_, err = kv.Create(ctx, key, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return failure.Wrap(err, failure.Conflict, "the idempotency key is in use")
	}
	return stream.Failure(err)
}

// DropKey gives the idempotency key of a job free, if it still stands for it.
func (s *Store) DropKey(ctx context.Context, job *pb.Job) error {
	if len(job.GetIdempotency()) == 0 {
		return nil
	}
	kept, revision, err := s.Key(ctx, job.GetIdempotency())
	if failure.KindOf(err) == failure.NotFound || err == nil && kept.GetId() != job.GetId() {
		return nil
	}
	if err != nil {
		return err
	}
	kv, err := s.Records(ctx)
	if err != nil {
		return err
	}
	err = stream.Failure(kv.Delete(ctx, stream.KeyRecord(job.GetIdempotency()), jetstream.LastRevision(revision)))
	if failure.KindOf(err) == failure.Conflict {
		return nil
	}
	return err
}

// Void makes sure that a job which has no record never gets one, so that what was
// stored of it can be deleted: whoever is still about to create it is told Conflict.
// It is false when there is a record.
func (s *Store) Void(ctx context.Context, id string) (bool, error) {
	msg := &nats.Msg{Subject: "$KV." + stream.Records + "." + stream.JobRecord(id), Header: nats.Header{"KV-Operation": {"DEL"}}}
	_, err := s.conn.JetStream().PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(0))
	if err = stream.Failure(err); failure.KindOf(err) != failure.Conflict {
		return err == nil, err
	}
	_, err = s.Job(ctx, id)
	if failure.KindOf(err) == failure.NotFound {
		return true, nil // it was made void before, or had a record and was deleted
	}
	return false, err
}
