package front_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"triptych/gateway/internal/fake"
	"triptych/gateway/internal/fronttest"
	"triptych/proto/inference"
)

// full is a front whose one model has all the work that it may have, until release.
func full(tb testing.TB) (s *fronttest.Server, release func()) {
	tb.Helper()
	arrived, open := make(chan struct{}), make(chan struct{})
	stuck := fake.Classifier("classify")
	run := stuck.Run
	stuck.Run = func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		arrived <- struct{}{}
		<-open
		return run(ctx, req)
	}
	s = fronttest.Start(tb, &fake.Server{Models: []fake.Model{stuck, fake.Classifier("free")}}, func(c *fronttest.Config) {
		c.Room.Models.Limit.Fixed, c.Room.Models.MaxQueue = 1, 0
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Post("/v1/classify", []byte("held"))
	}()
	<-arrived
	return s, func() { close(open); <-ended }
}

// What a model has no time for is refused before its body is read: no bytes are taken
// for it.
func TestRefusedUnread(t *testing.T) {
	s, release := full(t)
	defer release()
	before := bytesInFlight(t, s)
	a := s.Post("/v1/classify", bytes.Repeat([]byte("x"), 100<<10))
	if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || a.Failure().Code != "BUSY" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if got := bytesInFlight(t, s); got != before {
		t.Errorf("%d bytes are in flight, were %d", got, before)
	}
	if a := s.Post("/v2/models/classify/infer", body(0)); a.Status != http.StatusTooManyRequests {
		t.Errorf("infer: %d %s", a.Status, a.Body)
	}
	if a := s.Post("/v1/classify?model=free", []byte("cat")); a.Status != http.StatusOK {
		t.Errorf("another model: %d %s", a.Status, a.Body)
	}
}

// BenchmarkRefusal is a whole exchange with an image of 90 kB that is refused, beside
// one that is answered by a model that does nothing: the client is in it.
func BenchmarkRefusal(b *testing.B) {
	s, release := full(b)
	defer release()
	image := bytes.Repeat([]byte("x"), 90<<10)
	for path, status := range map[string]int{"/v1/classify": http.StatusTooManyRequests, "/v1/classify?model=free": http.StatusOK} {
		b.Run(http.StatusText(status), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := s.Post(path, image); a.Status != status {
					b.Fatal(a.Status)
				}
			}
		})
	}
}
