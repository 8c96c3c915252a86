package client

import (
	"context"
	"io"
	"time"

	"triptych/shared/failure"
)

// silence ends a request when neither side has sent anything for a while: over a
// connection that has died unseen nothing would ever come.
type silence struct {
	limit time.Duration
	timer *time.Timer
}

// guard makes a context that ends by silence.
func guard(ctx context.Context, limit time.Duration) (context.Context, *silence, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &silence{limit: limit}
	s.timer = time.AfterFunc(limit, func() { cancel(failure.New(failure.Unavailable, "nothing was heard for %s", limit)) })
	return ctx, s, func() { s.timer.Stop(); cancel(nil) }
}

// heard is a reader whose bytes are no silence.
type heard struct {
	io.Reader
	silence *silence
}

// Read implements io.Reader.
func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.silence.timer.Reset(h.silence.limit)
	return n, err
}
