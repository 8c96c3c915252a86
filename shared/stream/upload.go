package stream

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"triptych/proto/jobs"
	"triptych/shared/failure"
)

const (
	// ahead is how many chunks are sent before the first is acknowledged.
	ahead = 4
	// cleanup bounds what is done for an upload that has failed.
	cleanup = 3 * time.Second
)

// chunk is how many bytes of an object lie in one message. Each is synced to the
// disk for itself, so they are larger than the client's own.
func (c *Connection) chunk() int {
	const least = 128 << 10
	return max(c.PageBytes(), least)
}

// upload is an object on its way into a bucket.
type upload struct {
	*objects
	key     string
	id      string
	sum     hash.Hash
	size    uint64
	count   uint32
	pending []jetstream.PubAckFuture
}

// put stores what next gives until io.EOF. The message that names the object is sent
// when all of it is stored, so that an object is whole or not there.
func (c *Connection) put(ctx context.Context, bucket, key string, next func() ([]byte, error)) (*jobs.Blob, error) {
	b, err := c.bucket(ctx, bucket)
	if err != nil {
		return nil, err
	}
	before, err := b.info(ctx, key)
	if err != nil && failure.KindOf(err) != failure.NotFound {
		return nil, err
	}
	// The id names the key, so that chunks without an object can be told.
	u := &upload{objects: b, key: key, id: nuid.Next() + "-" + base64.URLEncoding.EncodeToString([]byte(key)), sum: sha256.New()}
	if err := u.send(ctx, next); err != nil {
		u.abandon(ctx)
		return nil, err
	}
	if before != nil {
		// The object is stored; what it replaces would only take room.
		_ = b.stream.Purge(ctx, jetstream.WithPurgeSubject(b.chunks(before.NUID)))
	}
	return &jobs.Blob{Bucket: bucket, Key: key, Size: u.size, Digest: u.sum.Sum(nil)}, nil
}

func (u *upload) send(ctx context.Context, next func() ([]byte, error)) error {
	for {
		piece, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := u.store(ctx, piece); err != nil {
			return err
		}
	}
	for len(u.pending) > 0 {
		if err := u.wait(ctx); err != nil {
			return err
		}
	}
	return u.name(ctx)
}

func (u *upload) store(ctx context.Context, piece []byte) error {
	if len(u.pending) >= ahead {
		if err := u.wait(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return failure.OfContext(ctx)
	}
	ack, err := u.conn.js.PublishMsgAsync(&nats.Msg{Subject: u.chunks(u.id), Data: piece}, jetstream.WithExpectStream(objectStream(u.objects.name)))
	if err != nil {
		return Failure(err)
	}
	u.pending = append(u.pending, ack)
	u.count++
	u.size += uint64(len(piece))
	_, _ = u.sum.Write(piece) // a hash takes everything
	return nil
}

// wait waits until the oldest chunk is stored.
func (u *upload) wait(ctx context.Context) error {
	ack := u.pending[0]
	u.pending = u.pending[1:]
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return Failure(err)
	case <-ctx.Done():
		return failure.OfContext(ctx)
	}
}

// name makes the object exist.
func (u *upload) name(ctx context.Context) error {
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: u.key, Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(u.conn.chunk())}},
		Bucket:     u.objects.name, NUID: u.id, Size: u.size, Chunks: u.count,
		Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(u.sum.Sum(nil)),
	}
	data, err := json.Marshal(info)
	if err != nil {
		return failure.Wrap(err, failure.Internal, "an object can't be described")
	}
	msg := &nats.Msg{Subject: u.meta(u.key), Data: data, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	_, err = u.conn.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(objectStream(u.objects.name)))
	return Failure(err)
}

// abandon deletes what an upload has stored that has failed. What can't be deleted
// now is swept up later.
func (u *upload) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	for len(u.pending) > 0 && ctx.Err() == nil {
		_ = u.wait(ctx) // a chunk that comes later would not be deleted
	}
	if u.conn.connected() != nil || u.count == 0 {
		return
	}
	// The naming message may have been stored without a word.
	if info, err := u.info(ctx, u.key); err == nil && info.NUID == u.id {
		_ = u.drop(ctx, u.key, info)
		return
	}
	_ = u.stream.Purge(ctx, jetstream.WithPurgeSubject(u.chunks(u.id)))
}
