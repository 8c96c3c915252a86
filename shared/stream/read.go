package stream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// forgotten is after how long the server forgets a reader that has gone without a
	// word, and dropWithin bounds that word.
	forgotten  = 30 * time.Second
	dropWithin = time.Second
)

// Reader makes a consumer that reads a stream in order. Drop must be called at the end:
// to stop its messages alone leaves it in the server.
func (c *Connection) Reader(ctx context.Context, in string, cfg jetstream.OrderedConsumerConfig) (reader jetstream.Consumer, drop func(), err error) {
	cfg.InactiveThreshold = forgotten
	reader, err = c.js.OrderedConsumer(ctx, in, cfg)
	if err != nil {
		return nil, nil, Failure(err)
	}
	return reader, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
		defer cancel()
		_ = c.js.DeleteConsumer(ctx, in, reader.CachedInfo().Name) // else the server forgets it
	}, nil
}
