package front_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"triptych/gateway/internal/fronttest"
	"triptych/shared/failure"
)

func small(c *fronttest.Config) { c.MaxBody, c.Room.MaxBytes = 4096, 64<<10 }

func TestBodyLimit(t *testing.T) {
	s := fronttest.Start(t, server(), small)
	unknown := func(data []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(data)} }
	cases := map[string]struct {
		body   io.Reader
		status int
	}{
		"the limit":                    {bytes.NewReader(body(4096)), 200},
		"one more":                     {bytes.NewReader(body(4097)), 413},
		"the limit, unknown length":    {unknown(body(4096)), 200},
		"one more, unknown length":     {unknown(body(4097)), 413},
		"a thousand times more":        {bytes.NewReader(body(4 << 20)), 413},
		"a lot more of unknown length": {unknown(body(16 << 20)), 413},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Do(http.MethodPost, infer, tc.body)
			if a.Status != tc.status || a.Status == 413 && (a.Failure().Code != "TOO_LARGE" || !strings.Contains(a.Failure().Error, "4096")) {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	if a := s.Post("/v2/repository/index", bytes.Repeat([]byte(" "), 5000)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a route without work: %d", a.Status)
	}
}

// TestRefusalIsReadable: a caller that writes all of a great body before it
// reads still gets the answer.
func TestRefusalIsReadable(t *testing.T) {
	s := fronttest.Start(t, server(), small)
	// More than both ends' sockets hold, and not so much that a busy machine can't take
	// it within the time of the drain.
	const size = 16 << 20
	for name, header := range map[string]string{"known length": fmt.Sprintf("Content-Length: %d", size), "unknown length": "Transfer-Encoding: chunked"} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			chunk := strings.Repeat("x", 1<<20)
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", infer, header)
			for range size >> 20 {
				text := chunk
				if name == "unknown length" {
					text = fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)
				}
				if _, err := io.WriteString(conn, text); err != nil {
					t.Fatalf("the connection is cut before all was sent: %v", err)
				}
			}
			if name == "unknown length" {
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close {
				t.Errorf("%d %v %s", resp.StatusCode, err, text)
			}
		})
	}
}

// TestRefusalBeforeASmallBody: who wants the connection closed is not cut off while it
// still sends, or the answer would be lost.
func TestRefusalBeforeASmallBody(t *testing.T) {
	s := fronttest.Start(t, server())
	for name, proto := range map[string]string{"HTTP/1.0": "HTTP/1.0", "close": "HTTP/1.1"} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "POST %s %s\r\nHost: a\r\nConnection: close\r\nTriptych-Tenant: a b\r\nContent-Length: 102400\r\n\r\n", infer, proto)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for range 100 {
				if _, err := io.WriteString(conn, strings.Repeat("x", 1024)); err != nil {
					t.Fatalf("the connection is cut before all was sent: %v", err)
				}
			}
			if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%d %v %s", resp.StatusCode, err, text)
			}
		})
	}
}

func TestRefusedBeforeTheBodyIsSent(t *testing.T) {
	s := fronttest.Start(t, server(), small)
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	start := time.Now()
	_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n", infer)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestSlowBody: one byte a while is cut by the read deadline, with an answer.
func TestSlowBody(t *testing.T) {
	s := fronttest.Start(t, server(), func(c *fronttest.Config) { c.BodyTimeout = 200 * time.Millisecond })
	cases := map[string]struct {
		headers string
		status  int
		code    string
	}{
		"slow":           {"", 408, "SLOW_REQUEST"},
		"slow, deadline": {"triptych-timeout-ms: 50\r\n", 504, "DEADLINE"},
	}
	for name, tc := range cases {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			t.Run(name+" "+length, func(t *testing.T) {
				conn, err := net.Dial("tcp", s.Address())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\n%s%s\r\n\r\n", infer, tc.headers, length)
				_, _ = io.WriteString(conn, "1\r\n{\r\n")
				start := time.Now()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				text, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != tc.status || !strings.Contains(string(text), tc.code) || time.Since(start) > 2*time.Second {
					t.Errorf("%d %s after %v", resp.StatusCode, text, time.Since(start))
				}
			})
		}
	}
}

// TestSlowAnswerToAFastBody: the deadline of the body does not end a request
// whose body has come.
func TestSlowAnswerToAFastBody(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *fronttest.Config) { c.BodyTimeout = 50 * time.Millisecond })
	go func() {
		<-g.arrived
		time.Sleep(200 * time.Millisecond)
		close(g.open)
	}()
	if a := s.Post("/gate", []byte("x")); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func packed(t *testing.T, w io.WriteCloser, b *bytes.Buffer, data []byte) []byte {
	t.Helper()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContentEncoding(t *testing.T) {
	s := fronttest.Start(t, server(), small)
	gz := func(data []byte) []byte { b := &bytes.Buffer{}; return packed(t, gzip.NewWriter(b), b, data) }
	zl := func(data []byte) []byte { b := &bytes.Buffer{}; return packed(t, zlib.NewWriter(b), b, data) }
	fl := func(data []byte) []byte {
		b := &bytes.Buffer{}
		w, _ := flate.NewWriter(b, 6)
		return packed(t, w, b, data)
	}
	cases := map[string]struct {
		encoding string
		body     []byte
		status   int
		says     string
	}{
		"gzip":              {"gzip", gz(body(2000)), 200, ""},
		"GZIP":              {"GZIP", gz(body(2000)), 200, ""},
		"deflate, zlib":     {"deflate", zl(body(2000)), 200, ""},
		"deflate, bare":     {"deflate", fl(body(2000)), 200, ""},
		"identity":          {"identity", body(0), 200, ""},
		"bomb":              {"gzip", gz(make([]byte, 1<<20)), 413, "4096"},
		"bomb, deflate":     {"deflate", zl(make([]byte, 1<<20)), 413, "4096"},
		"not gzip":          {"gzip", body(0), 400, "not valid gzip"},
		"cut gzip":          {"gzip", gz(body(2000))[:30], 400, "not valid gzip"},
		"wrong sum":         {"gzip", append(gz(body(0))[:len(gz(body(0)))-8], 0, 0, 0, 0, 0, 0, 0, 0), 400, "not valid gzip"},
		"not deflate":       {"deflate", []byte("\xff\xff\xff\xff"), 400, "not valid deflate"},
		"empty gzip":        {"gzip", []byte{31}, 400, "not valid gzip"},
		"brotli":            {"br", body(0), 501, "only gzip and deflate"},
		"twice":             {"gzip, gzip", gz(gz(body(0))), 501, "only gzip and deflate"},
		"too much anyway":   {"gzip", append(gz(body(0)), make([]byte, 5000)...), 413, "4096"},
		"nothing but gzips": {"gzip", bytes.Repeat(gz(nil), 250), 413, "4096"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Post(infer, tc.body, "Content-Encoding", tc.encoding)
			if a.Status != tc.status || !strings.Contains(a.Failure().Error, tc.says) {
				t.Errorf("%d %s, want %d with %q", a.Status, a.Body, tc.status, tc.says)
			}
		})
	}
}

func TestBrokenBodies(t *testing.T) {
	s := fronttest.Start(t, server())
	for name, tc := range map[string]struct {
		text   string
		status int
	}{
		"ends early":  {"Content-Length: 1000\r\n\r\nabc", failure.StatusClientClosedRequest},
		"bad chunks":  {"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", http.StatusBadRequest},
		"half chunks": {"Transfer-Encoding: chunked\r\n\r\n5\r\nab", failure.StatusClientClosedRequest},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\n%s", infer, tc.text)
			if half, ok := conn.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != tc.status {
				t.Fatalf("%v %v", resp, err)
			}
			_ = resp.Body.Close()
		})
	}
}
