package admission_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"

	"triptych/gateway/admission"
	"triptych/gateway/admission/gate"
	"triptych/shared/failure"
)

func makeRoom(t *testing.T, bytes int64, requests int) (*admission.Admission, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	a, err := admission.New(admission.Config{MaxBytes: bytes, MaxRequests: requests, Models: gate.DefaultConfig()}, registry)
	if err != nil {
		t.Fatal(err)
	}
	return a, registry
}

func admit(t *testing.T, a *admission.Admission, door admission.Door, bytes int64) *admission.Grant {
	t.Helper()
	g, err := a.Admit(door, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wantKind(t *testing.T, err error, want failure.Kind) {
	t.Helper()
	if err == nil || failure.KindOf(err) != want {
		t.Errorf("got %v, want the kind %s", err, want)
	}
}

// Both doors have one room, and metrics of their own.
func TestAdmit(t *testing.T) {
	a, registry := makeRoom(t, 100, 3)
	first := admit(t, a, admission.HTTP, 60)
	second := admit(t, a, admission.GRPC, 30)
	_, err := a.Admit(admission.GRPC, 11)
	wantKind(t, err, failure.Busy)
	wantKind(t, first.Grow(11), failure.Busy)
	wantKind(t, first.Grow(41), failure.TooLarge)
	if err := first.Grow(10); err != nil {
		t.Error(err)
	}
	first.Shrink(5)
	first.Shrink(50) // it has less
	third := admit(t, a, admission.GRPC, 0)
	_, err = a.Admit(admission.HTTP, 0)
	wantKind(t, err, failure.Busy)
	const want = `
		# HELP triptych_admission_bytes_in_flight Bytes for which admitted requests hold room.
		# TYPE triptych_admission_bytes_in_flight gauge
		triptych_admission_bytes_in_flight{door="grpc"} 30
		triptych_admission_bytes_in_flight{door="http"} 5
		# HELP triptych_admission_refused_total Requests that were not admitted, by what had no room.
		# TYPE triptych_admission_refused_total counter
		triptych_admission_refused_total{door="grpc",reason="bytes"} 1
		triptych_admission_refused_total{door="grpc",reason="requests"} 0
		triptych_admission_refused_total{door="http",reason="bytes"} 1
		triptych_admission_refused_total{door="http",reason="requests"} 1
		# HELP triptych_admission_requests_in_flight Admitted requests that are not answered yet.
		# TYPE triptych_admission_requests_in_flight gauge
		triptych_admission_requests_in_flight{door="grpc"} 2
		triptych_admission_requests_in_flight{door="http"} 1
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "triptych_admission_bytes_in_flight", "triptych_admission_refused_total", "triptych_admission_requests_in_flight"); err != nil {
		t.Error(err)
	}
	for _, g := range []*admission.Grant{first, second, third, first} {
		g.Release()
	}
	admit(t, a, admission.HTTP, 100).Release()
	_, err = a.Admit(admission.HTTP, 101)
	wantKind(t, err, failure.TooLarge)
}

// The hint is the time for which requests hold their room, within bounds.
func TestRetryAfter(t *testing.T) {
	for name, tt := range map[string]struct{ held, least, most time.Duration }{
		"short":  {time.Millisecond, time.Second, time.Second},
		"medium": {10 * time.Second, 9 * time.Second, 10 * time.Second},
		"long":   {time.Hour, 30 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := makeRoom(t, 100, 1)
				for range 30 {
					g := admit(t, a, admission.GRPC, 1)
					time.Sleep(tt.held)
					g.Release()
				}
				defer admit(t, a, admission.GRPC, 1).Release()
				_, err := a.Admit(admission.HTTP, 1)
				if got := failure.RetryAfter(err); got < tt.least || got > tt.most {
					t.Errorf("come back in %s, want %s to %s", got, tt.least, tt.most)
				}
			})
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	a, _ := makeRoom(t, 1000, 1000)
	var callers sync.WaitGroup
	for i := range 50 {
		callers.Go(func() {
			for range 200 {
				g, err := a.Admit(admission.Door(i%2), 10)
				if err != nil {
					t.Error(err)
					return
				}
				if err := g.Grow(5); err != nil {
					t.Error(err)
				}
				g.Shrink(1)
				g.Release()
			}
		})
	}
	callers.Wait()
	admit(t, a, admission.HTTP, 1000).Release()
}

func TestConfig(t *testing.T) {
	cfg := admission.DefaultConfig()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	cfg.RegisterFlags(fs)
	if err := fs.Parse([]string{"--max-bytes-in-flight=5", "--max-requests-in-flight=6"}); err != nil || cfg != (admission.Config{MaxBytes: 5, MaxRequests: 6, Models: gate.DefaultConfig()}) {
		t.Errorf("%+v, %v", cfg, err)
	}
	for flag, cfg := range map[string]admission.Config{
		"--max-bytes-in-flight ": {MaxBytes: 0, MaxRequests: 1}, "--max-requests-in-flight ": {MaxBytes: 1, MaxRequests: 0},
	} {
		if _, err := admission.New(cfg, prometheus.NewRegistry()); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	_, registry := makeRoom(t, 1, 1)
	if _, err := admission.New(admission.DefaultConfig(), registry); err == nil {
		t.Error("the same registry twice is no error")
	}
}
