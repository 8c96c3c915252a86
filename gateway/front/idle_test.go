package front_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triptych/gateway/internal/fronttest"
	"triptych/shared/testkit"
)

// TestIdleBodies: callers who say that much will come, and send nothing, are in
// nobody's way.
func TestIdleBodies(t *testing.T) {
	s := fronttest.Start(t, server())
	const each, room = 100, 64 << 10
	for _, headers := range []string{"Transfer-Encoding: chunked", "Content-Length: 67108864", "Content-Length: 1000000\r\nContent-Encoding: gzip"} {
		for range each {
			conn, err := net.Dial("tcp", s.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", infer, headers)
		}
	}
	testkit.Eventually(t, time.Minute, "all are admitted", func() bool { return bytesInFlight(t, s) >= 3*each*room })
	if got := bytesInFlight(t, s); got != 3*each*room {
		t.Errorf("%d bytes are in flight", got)
	}
	if a := s.Post(infer, body(1<<20)); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestGrowingBodies: bodies of unknown length never hold more than there is room
// for, and those that have none are refused while they come in.
func TestGrowingBodies(t *testing.T) {
	const most = 16 << 20
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *fronttest.Config) { c.MaxBody, c.Room.MaxBytes = most, most })
	content := strings.Repeat("x", 1<<20)
	var sending sync.WaitGroup
	var taken, refused atomic.Int32
	for range 100 {
		sending.Go(func() {
			switch a := s.Do(http.MethodPost, "/gate", struct{ *strings.Reader }{strings.NewReader(content)}); a.Status {
			case http.StatusOK:
				taken.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			default:
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	for len(g.arrived)+int(refused.Load()) < 100 {
		if got := bytesInFlight(t, s); got > most {
			t.Fatalf("%d bytes are in flight", got)
		}
		time.Sleep(time.Millisecond)
	}
	if got, want := bytesInFlight(t, s), int64(len(g.arrived)<<20); got != want {
		t.Errorf("%d bytes are in flight, want %d", got, want)
	}
	close(g.open)
	sending.Wait()
	if taken.Load() == 0 || taken.Load() > most>>20 || bytesInFlight(t, s) != 0 {
		t.Errorf("%d were taken, %d bytes are in flight", taken.Load(), bytesInFlight(t, s))
	}
}
