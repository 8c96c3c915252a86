package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"triptych/shared/failure"
)

// mostLine bounds one line of an answer that is read line by line.
const mostLine = 256 << 20

// lines is an answer that is read line by line, as they come.
type lines struct {
	client *Client
	parent context.Context // of this request: tells whose end a broken connection was
	resp   *http.Response
	reader *bufio.Reader
	stop   context.CancelFunc
}

// open asks for an answer in lines. Whoever has it closes it.
func (c *Client) open(ctx context.Context, path string, headers http.Header, limit time.Duration) (*lines, error) {
	inner, quiet, stop := guard(ctx, limit)
	req, err := http.NewRequestWithContext(inner, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		stop()
		return nil, err
	}
	req.Header = headers
	resp, err := c.stream.Do(req) //nolint:bodyclose // lines.close does
	if err != nil {
		stop()
		return nil, c.broken(ctx, err)
	}
	l := &lines{client: c, parent: ctx, resp: resp, stop: stop, reader: bufio.NewReaderSize(heard{resp.Body, quiet}, 64<<10)}
	if good(resp) {
		return l, nil
	}
	defer l.close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	return nil, refused(resp, data)
}

func (l *lines) close() {
	l.stop()
	l.resp.Body.Close()
}

// next gives a line without its end; io.EOF is the end of the answer after a whole
// line. The bytes are the caller's.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > mostLine:
			return nil, failure.New(failure.Invalid, "a line of the answer of %s is longer than %d bytes", l.client.base, mostLine)
		case err == nil:
			line = line[:len(line)-1]
			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		default:
			return nil, l.client.broken(l.parent, err)
		}
	}
}

// waiting tells whether more has come already.
func (l *lines) waiting() bool { return l.reader.Buffered() > 0 }

// broken is why a request got no whole answer: the end of the caller's context, a
// body that could not be read, a gateway that is not there, or a connection that
// broke. The last two are worth another try.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure.OfContext(ctx)
	}
	var own *failure.Error // of the body, or of a silence
	if errors.As(err, &own) {
		return own
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return unreachable(c.base, err)
	}
	return failure.Wrap(err, failure.Unavailable, "the connection to %s broke off", c.base)
}
