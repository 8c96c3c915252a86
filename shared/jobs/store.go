// Package jobs is the durable state of jobs and the rules that it moves by: tasks
// that walk the steps of a plan, verdicts that are written once, dead letters, and
// the records of jobs. Gateways and workers share it; it runs no model and decides
// nothing about when.
package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"triptych/shared/failure"
	"triptych/shared/stream"
)

// Store is the jobs in one NATS system. Safe for concurrent use.
type Store struct {
	conn    *stream.Connection
	plans   *plans
	streams sync.Map // of jetstream.Stream, by name: to look one up costs a request
	// records is the bucket. It goes by the name, so that it is good for one made anew.
	records atomic.Pointer[jetstream.KeyValue]
}

// New makes a store over a connection.
func New(conn *stream.Connection) *Store { return &Store{conn: conn, plans: newPlans()} }

// Connection is the connection that the store uses.
func (s *Store) Connection() *stream.Connection { return s.conn }

// publish stores one message and waits until the server says that it has.
func (s *Store) publish(ctx context.Context, subject string, h nats.Header, body proto.Message, options ...jetstream.PublishOpt) error {
	_, err := s.send(ctx, subject, h, body, options...)
	return err
}

// send is publish for who must know whether the message was there already, by its id.
func (s *Store) send(ctx context.Context, subject string, h nats.Header, body proto.Message, options ...jetstream.PublishOpt) (duplicate bool, err error) {
	data, err := proto.Marshal(body)
	if err != nil {
		return false, failure.Wrap(err, failure.Internal, "a message can't be written")
	}
	ack, err := s.conn.JetStream().PublishMsg(ctx, &nats.Msg{Subject: subject, Header: h, Data: data}, options...)
	if err != nil {
		return false, stream.Failure(err)
	}
	return ack.Duplicate, nil
}

// stream is one of the streams of all jobs. That it is not there is not to be
// taken for a message that is not there.
func (s *Store) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if known, ok := s.streams.Load(name); ok {
		if st, ok := known.(jetstream.Stream); ok {
			return st, nil
		}
	}
	st, err := s.conn.JetStream().Stream(ctx, name)
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "the job store has no stream %s", name)
	}
	s.streams.Store(name, st)
	return st, nil
}

// last reads the last message of a subject into body. NotFound when there is none.
func (s *Store) last(ctx context.Context, in, subject string, body proto.Message) (*jetstream.RawStreamMsg, error) {
	from, err := s.stream(ctx, in)
	if err != nil {
		return nil, err
	}
	msg, err := from.GetLastMsgForSubject(ctx, subject)
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		s.streams.Delete(in) // it may have been made anew
		return nil, away(err)
	}
	if err != nil {
		return nil, stream.Failure(err)
	}
	if err := proto.Unmarshal(msg.Data, body); err != nil {
		return nil, failure.Wrap(err, failure.Internal, "a stored message can't be read")
	}
	return msg, nil
}

// away is the failure of what no stream answered: nothing was found nor missed.
func away(err error) error {
	err = stream.Failure(err)
	if failure.KindOf(err) == failure.NotFound {
		return failure.Wrap(err, failure.Unavailable, "the job store does not answer")
	}
	return err
}

// Purge deletes all messages of a stream that a subject matches.
func (s *Store) Purge(ctx context.Context, in, subject string) error {
	from, err := s.stream(ctx, in)
	if err != nil {
		return err
	}
	if err := from.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
		s.streams.Delete(in) // it may have been made anew
		return away(err)
	}
	return nil
}

// Subjects are the subjects of a stream that have messages and match. That there is no
// such stream is Unavailable, for it is not known then what there is.
func (s *Store) Subjects(ctx context.Context, in, filter string) (map[string]uint64, error) {
	from, err := s.stream(ctx, in)
	if err != nil {
		return nil, err
	}
	info, err := from.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		s.streams.Delete(in) // it may have been made anew
		return nil, away(err)
	}
	return info.State.Subjects, nil
}

// delete deletes one message. One that is gone already is no failure.
func (s *Store) delete(ctx context.Context, in string, sequence uint64) error {
	from, err := s.stream(ctx, in)
	if err != nil {
		return err
	}
	err = from.DeleteMsg(ctx, sequence)
	if err == nil {
		return nil
	}
	// The server's own error for one that is gone is that of a disk that fails, too.
	if _, gone := from.GetMsg(ctx, sequence); errors.Is(gone, jetstream.ErrMsgNotFound) {
		return nil
	}
	return stream.Failure(err)
}
