package front_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"triptych/gateway/front"
	"triptych/gateway/internal/fronttest"
)

func TestRequestsInFlight(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *front.Config) { c.MaxRequests = 2 })
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() {
			if a := s.Post("/gate", []byte("x")); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
		<-g.arrived
	}
	a := s.Post(infer, body(0))
	if after, _ := strconv.Atoi(a.Header.Get("Retry-After")); a.Status != http.StatusTooManyRequests || a.Failure().Code != "BUSY" || after < 1 {
		t.Errorf("%d %s %v", a.Status, a.Body, a.Header)
	}
	if a := s.Get("/v2/health/live"); a.Status != http.StatusOK {
		t.Errorf("a probe while full: %d", a.Status)
	}
	const want = `
		# HELP triptych_http_refused_total Requests that were not admitted, by what had no room.
		# TYPE triptych_http_refused_total counter
		triptych_http_refused_total{reason="bytes"} 0
		triptych_http_refused_total{reason="requests"} 1
		# HELP triptych_http_requests_in_flight Admitted requests that are not answered yet.
		# TYPE triptych_http_requests_in_flight gauge
		triptych_http_requests_in_flight 2
	`
	if err := testutil.GatherAndCompare(s.Registry, strings.NewReader(want), "triptych_http_refused_total", "triptych_http_requests_in_flight"); err != nil {
		t.Error(err)
	}
	close(g.open)
	waiting.Wait()
	if a := s.Post(infer, body(0)); a.Status != http.StatusOK {
		t.Errorf("when there is room again: %d %s", a.Status, a.Body)
	}
}

func TestBytesInFlight(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *front.Config) { c.MaxBody, c.MaxBytes = 1000, 2500 })
	inFlight := func(want string) {
		t.Helper()
		text := "# HELP triptych_http_bytes_in_flight Bytes of the bodies of admitted requests.\n# TYPE triptych_http_bytes_in_flight gauge\ntriptych_http_bytes_in_flight " + want + "\n"
		if err := testutil.GatherAndCompare(s.Registry, strings.NewReader(text), "triptych_http_bytes_in_flight"); err != nil {
			t.Error(err)
		}
	}
	var waiting sync.WaitGroup
	// A body of unknown length holds the cap until its end is seen, then its length.
	unknown := struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 700))}
	waiting.Go(func() { s.Do(http.MethodPost, "/gate", unknown) })
	<-g.arrived
	inFlight("700")
	waiting.Go(func() { s.Post("/gate", bytes.Repeat([]byte("x"), 1000)) })
	<-g.arrived
	inFlight("1700")
	if a := s.Post(infer, body(900)); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("900 more: %d %s", a.Status, a.Body)
	}
	if a := s.Do(http.MethodPost, infer, struct{ io.Reader }{bytes.NewReader(body(0))}); a.Status != http.StatusTooManyRequests {
		t.Errorf("a length that nobody knows: %d %s", a.Status, a.Body)
	}
	if a := s.Post(infer, body(800)); a.Status != http.StatusOK {
		t.Errorf("800 more: %d %s", a.Status, a.Body)
	}
	close(g.open)
	waiting.Wait()
	inFlight("0")
}
