package stream

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// sweeper deletes chunks that no object names: a process that ends in the midst of
// an upload leaves them. They count as lost when they are there at two sweeps, far
// apart by our own clock, for an upload under way looks the same.
type sweeper struct {
	conn *Connection
	seen map[string]bool
}

// sweep looks once, and deletes what was without an object the last time too.
func (s *sweeper) sweep(ctx context.Context, bucket string) error {
	b, err := s.conn.bucket(ctx, bucket)
	if err != nil {
		return err
	}
	info, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(b.chunks("*")))
	if err != nil {
		return Failure(err)
	}
	lost := map[string]bool{}
	for subject := range info.State.Subjects {
		is, err := b.lost(ctx, subject)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		if !s.seen[subject] {
			lost[subject] = true
			continue
		}
		if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return Failure(err)
		}
	}
	s.seen = lost
	return nil
}

// lost tells whether no object names the chunks of a subject. Of chunks that others
// have put there nothing is known.
func (b *objects) lost(ctx context.Context, subject string) (bool, error) {
	id := strings.TrimPrefix(subject, b.chunks(""))
	key, ours := keyOf(id)
	if !ours {
		return false, nil
	}
	info, err := b.info(ctx, key)
	if err != nil {
		return failure.KindOf(err) == failure.NotFound, ignoring(err, failure.NotFound)
	}
	return info.NUID != id, nil
}

// keyOf is the key in the id of an object, when the id is one of ours.
func keyOf(id string) (key string, ours bool) {
	_, encoded, ours := strings.Cut(id, "-")
	decoded, err := base64.URLEncoding.DecodeString(encoded)
	return string(decoded), ours && err == nil
}

// ignoring is an error unless it is of a kind.
func ignoring(err error, kind failure.Kind) error {
	if err != nil && failure.KindOf(err) == kind {
		return nil
	}
	return err
}
