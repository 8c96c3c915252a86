package jobs

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// PutPage begins to store a page of a job's items and gives what tells that it is
// stored. A full backlog is Busy, by Stored.
func (s *Store) PutPage(job string, page uint32, p *pb.Page) (jetstream.PubAckFuture, error) {
	data, err := proto.Marshal(p)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "a page of a job can't be written")
	}
	number := strconv.FormatUint(uint64(page), 10)
	msg := &nats.Msg{Subject: stream.InputSubject(job, number), Data: data}
	ack, err := s.conn.JetStream().PublishMsgAsync(msg, jetstream.WithMsgID(job+":page:"+number), jetstream.WithExpectStream(stream.Inputs))
	return ack, stream.Failure(err)
}

// Stored waits until the server says that a page is stored.
func Stored(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return stream.Failure(err)
	case <-ctx.Done():
		return failure.OfContext(ctx)
	}
}

// Page reads a page of a job. NotFound when it is gone.
func (s *Store) Page(ctx context.Context, job string, page uint32) (*pb.Page, error) {
	p := &pb.Page{}
	_, err := s.last(ctx, stream.Inputs, stream.InputSubject(job, strconv.FormatUint(uint64(page), 10)), p)
	return p, err
}

// DropPages deletes all pages of a job.
func (s *Store) DropPages(ctx context.Context, job string) error {
	return s.Purge(ctx, stream.Inputs, stream.InputSubject(job, "*"))
}

// InputBlob is the object's key of an image that is too large for a page.
func InputBlob(job string, item uint32) string {
	return job + "/input/" + strconv.FormatUint(uint64(item), 10)
}

// DropPage deletes a page of a job: its items are done.
func (s *Store) DropPage(ctx context.Context, job string, page uint32) error {
	return s.Purge(ctx, stream.Inputs, stream.InputSubject(job, strconv.FormatUint(uint64(page), 10)))
}
