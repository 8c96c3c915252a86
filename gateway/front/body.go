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

	"triptych/gateway/admission"
	"triptych/gateway/web"
	"triptych/shared/failure"
)

// Room for a body is taken as its bytes come: little at first, then as much again
// as there is, in steps that are bounded. Who sends nothing holds next to nothing.
const (
	firstRoom = 64 << 10
	mostRoom  = 4 << 20
)

// bodyBounds is how large a body of a route may be, and how long it may take.
func (f *Front) bodyBounds(route web.Route) (limit int64, timeout time.Duration) {
	switch {
	case route.Upload != nil:
		return route.Upload.MaxBytes, route.Upload.Timeout
	case route.Work:
		return f.cfg.MaxBody, f.cfg.BodyTimeout
	default:
		return min(f.cfg.MaxBody, maxControlBody), f.cfg.BodyTimeout
	}
}

// takeBody bounds a request's body in bytes and time, and takes room for it when
// the route does work. Until release, the room is held.
func (f *Front) takeBody(c *gin.Context, route web.Route) (release func(), err error) {
	r := c.Request
	limit, timeout := f.bodyBounds(route)
	encoding, err := encodingOf(r.Header)
	if err != nil {
		return nil, err
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b := &body{ReadCloser: r.Body, limit: limit, room: limit, release: func() {}}
	if route.Work {
		if err := b.admit(f.admission, r, encoding); err != nil {
			return nil, err
		}
	}
	if r.ContentLength != 0 && r.Body != nil {
		f.guardBody(c, encoding, b, timeout)
	}
	return b.release, nil
}

// guardBody puts the bounds around the request's body.
func (f *Front) guardBody(c *gin.Context, encoding string, b *body, timeout time.Duration) {
	r := c.Request
	b.ctx = r.Context()
	b.pace = newPace(b.ctx, http.NewResponseController(c.Writer), timeout, f.cfg.MinBodyRate)
	b.source = connection{b}
	if encoding != "" {
		b.source = &decoder{encoding: encoding, source: connection{b}}
		r.ContentLength = -1
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
	pace          *pace
	source        io.Reader
	limit         int64

	grant   *admission.Grant // nil on a route that does no work
	release func()
	room    int64 // decoded bytes that there is room for
	most    int64 // decoded bytes that there can be
	refused error // why no more is read

	read     int64 // decoded bytes
	received int64 // bytes of the connection
	ended    bool  // read to its end
	failed   bool  // the connection gives no more
}

// admit takes the first room.
func (b *body) admit(a *admission.Admission, r *http.Request, encoding string) (err error) {
	b.most = b.limit
	if r.ContentLength >= 0 && encoding == "" {
		b.most = r.ContentLength
	}
	b.room = min(b.most, firstRoom)
	if b.grant, err = a.Admit(admission.HTTP, b.room); err != nil {
		return err
	}
	b.release = b.grant.Release
	return nil
}

// Read gives the decoded body.
func (b *body) Read(p []byte) (int, error) {
	if b.refused != nil {
		return 0, b.refused
	}
	// A byte beyond the room shows that there is more to come.
	if most := b.room - b.read + 1; int64(len(p)) > most {
		p = p[:most]
	}
	n, err := b.source.Read(p)
	b.read += int64(n)
	if b.read > b.room {
		if b.refused = b.grow(); b.refused != nil {
			return 0, b.refused
		}
	}
	if err == io.EOF && !b.ended {
		b.end()
	}
	return n, err
}

// grow takes more room for a body that has more bytes than there is room for.
func (b *body) grow() error {
	if b.read > b.limit {
		return tooLarge(b.limit)
	}
	step := min(b.most-b.room, max(b.room, firstRoom), mostRoom)
	if err := b.grant.Grow(step); err != nil {
		return err
	}
	b.room += step
	return nil
}

func (b *body) end() {
	b.ended = true
	b.pace.over()
	if b.grant != nil {
		b.grant.Shrink(b.read)
	}
}

// connection reads the bytes of a body as they come.
type connection struct{ body *body }

func (r connection) Read(p []byte) (int, error) {
	b := r.body
	n, err := b.pace.read(b.ReadCloser, p)
	b.received += int64(n)
	if b.received > b.limit {
		return 0, tooLarge(b.limit)
	}
	if err == nil || err == io.EOF { //nolint:errorlint // a wrapped one is a body that was cut
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
		return b.pace.late(err)
	case b.ctx.Err() != nil: // also when the connection has ended: the server cancels
		return failure.OfContext(b.ctx)
	default:
		return failure.Wrap(err, failure.Invalid, "the body is not well formed")
	}
}
