package stream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// objects is a bucket of the object store, in NATS's own layout: a message that
// names an object and says how many chunks there are, and the chunks on a subject of
// their own. The client's own reader is not used: it waits for ever for chunks that
// are gone, and makes a consumer for each object.
type objects struct {
	conn   *Connection
	name   string
	stream jetstream.Stream
}

// bucket finds a bucket. One that is not there is Unavailable: its objects are not
// known to be gone.
func (c *Connection) bucket(ctx context.Context, name string) (*objects, error) {
	c.mu.Lock()
	b := c.buckets[name]
	c.mu.Unlock()
	if b != nil {
		return b, nil
	}
	s, err := c.js.Stream(ctx, objectStream(name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, failure.Wrap(err, failure.Unavailable, "the object store %s is not there", failure.Quote(name))
	}
	if err != nil {
		return nil, Failure(err)
	}
	b = &objects{conn: c, name: name, stream: s}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buckets[name] = b
	return b, nil
}

func objectStream(bucket string) string { return "OBJ_" + bucket }

func (b *objects) meta(key string) string {
	return "$O." + b.name + ".M." + base64.URLEncoding.EncodeToString([]byte(key))
}

func (b *objects) chunks(id string) string { return "$O." + b.name + ".C." + id }

// info reads what is said of an object. NotFound when there is none.
func (b *objects) info(ctx context.Context, key string) (*jetstream.ObjectInfo, error) {
	msg, err := b.last(ctx, b.meta(key))
	if err != nil {
		return nil, err
	}
	info := &jetstream.ObjectInfo{}
	if err := json.Unmarshal(msg.Data, info); err != nil || info.NUID == "" {
		return nil, failure.Wrap(err, failure.Invalid, "it is not described as objects are")
	}
	if info.Deleted {
		return nil, failure.New(failure.NotFound, "it is deleted")
	}
	if info.Opts != nil && info.Opts.Link != nil {
		return nil, failure.New(failure.Invalid, "it is a link")
	}
	return info, nil
}

// read appends the chunks of an object.
func (b *objects) read(ctx context.Context, info *jetstream.ObjectInfo, data []byte) ([]byte, error) {
	if info.Chunks == 1 {
		msg, err := b.last(ctx, b.chunks(info.NUID))
		if err != nil {
			return nil, err
		}
		return take(data, msg.Data)
	}
	next := uint64(1)
	for range info.Chunks {
		msg, err := b.patient(ctx, func() (*jetstream.RawStreamMsg, error) {
			return b.stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(b.chunks(info.NUID)))
		})
		if err != nil {
			return nil, err
		}
		if data, err = take(data, msg.Data); err != nil {
			return nil, err
		}
		next = msg.Sequence + 1
	}
	return data, nil
}

// take appends a chunk for which there is room.
func take(data, chunk []byte) ([]byte, error) {
	if len(chunk) > cap(data)-len(data) {
		return nil, failure.New(failure.Conflict, "it has changed since the job was accepted: it is longer than it says")
	}
	return append(data, chunk...), nil
}

func (b *objects) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return b.patient(ctx, func() (*jetstream.RawStreamMsg, error) { return b.stream.GetLastMsgForSubject(ctx, subject) })
}

// lags are how long to wait before an object counts as gone on a cluster: reads are
// answered by servers that may not have it yet.
var lags = [...]time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond}

// patient reads a message, more than once when the server that answered may lag
// behind the one that stored it.
func (b *objects) patient(ctx context.Context, get func() (*jetstream.RawStreamMsg, error)) (*jetstream.RawStreamMsg, error) {
	msg, err := get()
	for _, lag := range lags {
		if b.conn.config.Limits.Replicas == 1 || !errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, failure.OfContext(ctx)
		case <-time.After(lag):
		}
		msg, err = get()
	}
	return msg, Failure(err)
}
