package front_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"triptych/gateway/internal/fronttest"
)

func TestRequestsInFlight(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *fronttest.Config) { c.Room.MaxRequests = 2 })
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
		# HELP triptych_admission_refused_total Requests that were not admitted, by what had no room.
		# TYPE triptych_admission_refused_total counter
		triptych_admission_refused_total{door="grpc",reason="bytes"} 0
		triptych_admission_refused_total{door="grpc",reason="requests"} 0
		triptych_admission_refused_total{door="http",reason="bytes"} 0
		triptych_admission_refused_total{door="http",reason="requests"} 1
		# HELP triptych_admission_requests_in_flight Admitted requests that are not answered yet.
		# TYPE triptych_admission_requests_in_flight gauge
		triptych_admission_requests_in_flight{door="grpc"} 0
		triptych_admission_requests_in_flight{door="http"} 2
	`
	if err := testutil.GatherAndCompare(s.Registry, strings.NewReader(want), "triptych_admission_refused_total", "triptych_admission_requests_in_flight"); err != nil {
		t.Error(err)
	}
	close(g.open)
	waiting.Wait()
	if a := s.Post(infer, body(0)); a.Status != http.StatusOK {
		t.Errorf("when there is room again: %d %s", a.Status, a.Body)
	}
}

// bytesInFlight is what requests over HTTP have room for.
func bytesInFlight(t *testing.T, s *fronttest.Server) int64 {
	t.Helper()
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "triptych_admission_bytes_in_flight" {
			return int64(f.GetMetric()[1].GetGauge().GetValue())
		}
	}
	t.Fatal("there is no such metric")
	return 0
}

func TestBytesInFlight(t *testing.T) {
	g := newGate()
	s := fronttest.StartWith(t, server(), g.routes(), func(c *fronttest.Config) { c.MaxBody, c.Room.MaxBytes = 1000, 2500 })
	inFlight := func(want string) {
		t.Helper()
		if got := fmt.Sprint(bytesInFlight(t, s)); got != want {
			t.Errorf("%s bytes are in flight, want %s", got, want)
		}
	}
	var waiting sync.WaitGroup
	// Nobody knows this one's length before its end is seen.
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
