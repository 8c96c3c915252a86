package stream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// watched is a server in this process that knows its own state.
type watched interface {
	Health() error
	Low() error
}

// Ready says why nothing can be stored now: Unavailable when no server is connected,
// when the streams are not there, or when the server says that it can't write.
func (c *Connection) Ready() error {
	if err := c.connected(); err != nil {
		return err
	}
	if server, ok := c.config.InProcess.(watched); ok {
		if err := server.Health(); err != nil {
			return err
		}
	}
	return c.keeper.state()
}

// Accepts says why no new job should be taken now, although what was accepted can be
// worked on: the disk is almost full, or NATS has left a publisher without an answer.
func (c *Connection) Accepts() error {
	if err := c.Ready(); err != nil {
		return err
	}
	if server, ok := c.config.InProcess.(watched); ok {
		if err := server.Low(); err != nil {
			return err
		}
	}
	return c.doubt.state()
}

// Live says that the connection has ended for good, although nobody asked for it: the
// client does so when a server calls what it was sent a violation of the protocol. Only
// a restart makes another.
func (c *Connection) Live() error {
	select {
	case <-c.closed:
		if !c.ending.Load() {
			return failure.New(failure.Unavailable, "the connection to NATS has ended for good")
		}
	default:
	}
	return nil
}

// connected tells whether a server is connected, whatever it can do.
func (c *Connection) connected() error {
	if c.nats.Status() == nats.CONNECTED {
		return nil
	}
	return c.away()
}

// away is the failure of having no server. Why is for the log: it may name hosts.
func (c *Connection) away() error {
	if err := c.nats.LastError(); err != nil {
		return failure.Wrap(err, failure.Unavailable, "NATS is not connected")
	}
	return failure.New(failure.Unavailable, "NATS is not connected")
}

// Await waits until a server is connected.
func (c *Connection) Await(ctx context.Context) error {
	changed := c.nats.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer c.nats.RemoveStatusListener(changed)
	for c.connected() != nil {
		select {
		case <-ctx.Done():
			return c.away()
		case <-c.closed:
			return c.away()
		case <-changed:
		}
	}
	return nil
}

const (
	// doubtFor is how long a stream that did not answer counts as one that can't be
	// written to, unless it answers another in the meantime: a NATS server that can't
	// write to its disk says nothing.
	doubtFor = 10 * time.Second
	// doubtAfter is how long a publisher must have waited to count.
	doubtAfter = 2 * time.Second
)

// doubt remembers the streams that left a publisher without an answer.
type doubt struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// note takes the result of a publish to a subject.
func (d *doubt) note(subject string, waited time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		delete(d.since, family(subject))
	case unanswered(err) && waited >= doubtAfter:
		if d.since == nil {
			d.since = map[string]time.Time{}
		}
		d.since[family(subject)] = time.Now()
	}
}

// family is what the subjects of one kind of stream have in common.
func family(subject string) string {
	parts := strings.SplitN(subject, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

func (d *doubt) state() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for family, since := range d.since {
		if time.Since(since) <= doubtFor {
			return failure.New(failure.Unavailable, "NATS does not say that it has stored what was sent to %s", family)
		}
	}
	return nil
}

func unanswered(err error) bool {
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrAsyncPublishTimeout)
}

// observed takes note of how publishes end.
type observed struct {
	jetstream.JetStream
	doubt *doubt
}

// PublishMsg implements jetstream.JetStream.
func (o *observed) PublishMsg(ctx context.Context, msg *nats.Msg, options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	begin := time.Now()
	ack, err := o.JetStream.PublishMsg(ctx, msg, options...)
	o.doubt.note(msg.Subject, time.Since(begin), err)
	return ack, err
}
