package front_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/front"
	"triptych/gateway/web"
	"triptych/shared/telemetry"
)

// pipes is a listener of connections without a network, whose deadlines are those
// of a test's own clock.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.ended); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestPace: a body comes at a rate, after some grace, or is cut. While the server
// itself reads nothing the caller is not blamed.
func TestPace(t *testing.T) {
	lazy := web.Route{Method: http.MethodPost, Path: "/lazy", Work: true, Handle: func(c *gin.Context) error {
		if _, err := c.Request.Body.Read(make([]byte, 1)); err != nil {
			return err
		}
		time.Sleep(20 * time.Second)
		_, err := web.ReadBody(c.Request)
		return err
	}}
	cases := map[string]struct {
		path   string
		rate   int // KiB a second
		status int
		after  time.Duration
	}{
		"nothing at all":      {infer, 0, 408, 5 * time.Second},
		"too slow":            {infer, 10, 408, 13 * time.Second},
		"just fast enough":    {infer, 17, 400, 23 * time.Second},
		"fast, a slow server": {"/lazy", 400, 200, 20 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := front.New(front.DefaultConfig(), server(), room(t), telemetry.Discard(), nil, lazy)
				if err != nil {
					t.Fatal(err)
				}
				listener := &pipes{make(chan net.Conn), make(chan struct{})}
				server := &http.Server{Handler: f.Handler(), ReadHeaderTimeout: time.Second}
				go func() { _ = server.Serve(listener) }()
				conn, far := net.Pipe()
				listener.conns <- far
				start := time.Now()
				go send(conn, tc.path, tc.rate)
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if took := time.Since(start); resp.StatusCode != tc.status || took < tc.after || took > tc.after+2*time.Second {
					t.Errorf("%d after %s, want %d after %s", resp.StatusCode, took, tc.status, tc.after)
				}
				_ = conn.Close()
				_ = server.Close()
				time.Sleep(time.Second) // the server lets a caller read what it wrote
			})
		})
	}
}

// send sends a body of 400 KiB at a rate, until the connection ends.
func send(conn io.Writer, path string, rate int) {
	const total = 400
	_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", path, total<<10)
	for sent := 0; sent < total && rate > 0; sent += rate {
		if _, err := io.WriteString(conn, strings.Repeat("x", min(rate, total-sent)<<10)); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}
