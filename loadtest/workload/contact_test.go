package workload_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/loadtest/workload"
	"triptych/shared/failure"
)

// photos is one sort of request.
func photos(t *testing.T, p target.Protocol, url string) workload.Spec {
	t.Helper()
	return workload.Spec{Weight: 1, Target: options(p, url), Images: []string{targettest.Pictures(t, "a")}}
}

// What nobody answers, and what is refused for good.
func TestContactFails(t *testing.T) {
	t.Parallel()
	server := targettest.Start(t, echo)
	nobody := targettest.Nobody(t)
	jobs := photos(t, target.Classify, nobody)
	jobs.JobItems = 1000
	unknown := photos(t, target.Classify, server.URL)
	unknown.Target.Model = "nothing"
	unknownCall := photos(t, target.GRPC, server.Address)
	unknownCall.Target.Model = "nothing"
	for name, tt := range map[string]struct {
		spec workload.Spec
		kind failure.Kind
		want []string
	}{
		"classify":           {photos(t, target.Classify, nobody), failure.Unavailable, []string{"nothing answers at http://" + nobody + ": connection refused. Is the server running?"}},
		"rest":               {photos(t, target.REST, nobody), failure.Unavailable, []string{"nothing answers at http://" + nobody + ": connection refused. Is the server running?"}},
		"grpc":               {photos(t, target.GRPC, nobody), failure.Unavailable, []string{"nothing answers at " + nobody + ": connection refused. Is the server running?"}},
		"jobs":               {jobs, failure.Unavailable, []string{"nothing answers at http://" + nobody + ": connection refused."}},
		"no such host":       {photos(t, target.REST, "http://no..where:1"), failure.Unavailable, []string{"nothing answers at http://no..where:1: ", "Is that the server's address for rest?"}},
		"gRPC to HTTP":       {photos(t, target.GRPC, server.URL), failure.Unavailable, []string{"nothing answers at ", "Is that the server's address for grpc?"}},
		"HTTP to gRPC":       {photos(t, target.Classify, server.Address), failure.Unavailable, []string{"nothing answers at ", "Is that the server's address for classify?"}},
		"unknown model":      {unknown, failure.Invalid, []string{server.URL + " refuses requests for model nothing: HTTP 404 NOT_FOUND: unknown model"}},
		"unknown model, RPC": {unknownCall, failure.Invalid, []string{server.Address + " refuses requests for model nothing: gRPC NOT_FOUND: unknown model"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := open(t, tt.spec).Contact(t.Context(), 30*time.Second)
			for _, want := range tt.want {
				if err == nil || failure.KindOf(err) != tt.kind || !strings.Contains(failure.Message(err), want) {
					t.Errorf("error = %v, want %s", err, want)
				}
			}
		})
	}
}

// Errors that a test is there to measure.
func TestContactIsMade(t *testing.T) {
	for name, kind := range map[string]failure.Kind{"busy": failure.Busy, "away": failure.Unavailable, "internal": failure.Internal, "about the image": failure.BrokenImage} {
		server := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(kind, "no") })
		for protocol, url := range map[target.Protocol]string{target.Classify: server.URL, target.REST: server.URL, target.GRPC: server.Address} {
			if err := open(t, photos(t, protocol, url)).Contact(t.Context(), 30*time.Second); err != nil {
				t.Errorf("%s by %s: %v", name, protocol, err)
			}
		}
	}
}

// A server that is slow has been reached.
func TestContactWithASlowServer(t *testing.T) {
	release := make(chan struct{})
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		<-release
		return echo(image)
	})
	defer close(release)
	for protocol, url := range map[target.Protocol]string{target.Classify: server.URL, target.GRPC: server.Address} {
		if err := open(t, photos(t, protocol, url)).Contact(t.Context(), 200*time.Millisecond); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

// A server that is just starting is tried again.
func TestContactWaits(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) < 3 {
			panic(http.ErrAbortHandler) // breaks the connection off
		}
		_, _ = w.Write([]byte(`{"results":[{"predictions":[{"label":"cat"}]}]}`))
	}))
	defer server.Close()
	if err := open(t, photos(t, target.Classify, server.URL)).Contact(t.Context(), 30*time.Second); err != nil || requests.Load() != 3 {
		t.Errorf("%d requests, error %v", requests.Load(), err)
	}
}

// A first request of jobs is a job of one image, and a sort without weight has none.
func TestContactIsSmall(t *testing.T) {
	var images atomic.Int64
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		images.Add(1)
		return echo(image)
	})
	jobs, never := photos(t, target.Classify, server.URL), photos(t, target.Classify, targettest.Nobody(t))
	jobs.JobItems, never.Weight = 500, 0
	if err := open(t, jobs, never).Contact(t.Context(), 30*time.Second); err != nil || images.Load() != 1 {
		t.Errorf("%d images, error %v", images.Load(), err)
	}
}

func TestContactEndedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t, photos(t, target.Classify, targettest.Nobody(t))).Contact(ctx, 30*time.Second); err != nil {
		t.Error(err)
	}
}
