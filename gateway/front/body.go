package front

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/shared/failure"
)

// takeBody bounds a request's body in bytes and time, and takes room for it when
// the route does work. Until release, the room is held.
func (f *Front) takeBody(c *gin.Context, work bool) (release func(), err error) {
	r := c.Request
	limit := f.cfg.MaxBody
	if !work {
		limit = min(limit, maxControlBody)
	}
	encoding, err := encodingOf(r.Header)
	if err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	g := &grant{}
	if work {
		// A body whose length nobody knows may become as long as is allowed.
		size := r.ContentLength
		if size < 0 || encoding != "" {
			size = limit
		}
		if g, err = f.admission.admit(size); err != nil {
			return nil, err
		}
	}
	if r.ContentLength != 0 && r.Body != nil {
		f.guardBody(c, encoding, limit, g)
	}
	if !work {
		return func() {}, nil
	}
	return g.release, nil
}

// guardBody puts the bounds around the request's body.
func (f *Front) guardBody(c *gin.Context, encoding string, limit int64, g *grant) {
	r := c.Request
	control := http.NewResponseController(c.Writer)
	until, slow := time.Now().Add(f.cfg.BodyTimeout), failure.SlowRequest
	if deadline, ok := r.Context().Deadline(); ok && deadline.Before(until) {
		until, slow = deadline, failure.Deadline
	}
	// A writer without deadlines is a test's recorder, whose body is in memory.
	_ = control.SetReadDeadline(until)
	b := &body{ReadCloser: r.Body, ctx: r.Context(), slow: slow, limit: limit}
	b.source = connection{b}
	if encoding != "" {
		b.source = &decoder{encoding: encoding, source: connection{b}}
		r.ContentLength = -1
	}
	b.finished = func() {
		// The deadline would otherwise end the wait for the caller's going away,
		// which the server takes for its going away.
		_ = control.SetReadDeadline(time.Time{})
		if g.admission != nil {
			g.shrink(b.read)
		}
	}
	r.Body = b
}

func tooLarge(limit int64) error {
	return failure.New(failure.TooLarge, "the body has more than %d bytes", limit)
}

// encodingOf is how the body is compressed: "gzip", "deflate" or "".
func encodingOf(h http.Header) (string, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ","))); encoding {
	case "", "identity":
		return "", nil
	case "gzip", "deflate":
		return encoding, nil
	default:
		return "", failure.New(failure.Unsupported, "the content encoding is not supported, only gzip and deflate are")
	}
}

// body is a request's body between its bounds. Its errors have a Kind.
type body struct {
	io.ReadCloser // what the connection gives
	ctx           context.Context
	source        io.Reader
	slow          failure.Kind
	limit         int64
	read          int64 // decoded bytes
	received      int64 // bytes of the connection
	ended         bool  // read to its end
	failed        bool  // the connection gives no more
	finished      func()
}

// Read gives the decoded body.
func (b *body) Read(p []byte) (int, error) {
	if room := b.limit - b.read + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := b.source.Read(p)
	b.read += int64(n)
	if b.read > b.limit {
		return 0, tooLarge(b.limit)
	}
	if err == io.EOF && !b.ended {
		b.ended = true
		b.finished()
	}
	return n, err
}

// connection reads the bytes of a body as they come.
type connection struct{ body *body }

func (r connection) Read(p []byte) (int, error) {
	b := r.body
	n, err := b.ReadCloser.Read(p)
	b.received += int64(n)
	if b.received > b.limit {
		return 0, tooLarge(b.limit)
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	b.failed = true
	return n, b.broken(err)
}

// broken says why a body stopped.
func (b *body) broken(err error) error {
	var network net.Error
	switch {
	case errors.As(err, &network) && network.Timeout():
		if b.slow == failure.Deadline {
			return failure.Wrap(err, failure.Deadline, "the deadline of the request has passed while its body came in")
		}
		return failure.Wrap(err, b.slow, "the body came too slowly")
	case b.ctx.Err() != nil: // also when the connection has ended: the server cancels
		return failure.OfContext(b.ctx)
	default:
		return failure.Wrap(err, failure.Invalid, "the body is not well formed")
	}
}
