package load_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// fails is a server that fails with the fault from one second on.
func fails(f measure.Fault, after time.Duration) *server {
	start := time.Now()
	return &server{serve: func(ctx context.Context) error {
		if time.Since(start) < time.Second {
			return sleep(ctx, 100*time.Millisecond)
		}
		if err := sleep(ctx, after); err != nil {
			return err
		}
		return &f
	}}
}

// Callers whose requests find no server rest; others go on at once.
func TestClosedRests(t *testing.T) {
	for name, tt := range map[string]struct {
		fault measure.Fault
		after time.Duration
		want  int64 // errors of a caller in 4 s
	}{
		// Rests of 10 ms doubled to 640 ms, then of a second.
		"nobody there":              {measure.Fault{Kind: "gRPC UNAVAILABLE", Unreached: true}, 0, 10},
		"broken off at once":        {measure.Fault{Kind: measure.Connection}, 0, 10},
		"broken off later":          {measure.Fault{Kind: measure.Connection}, 10 * time.Millisecond, 400},
		"a server's word":           {measure.Fault{Kind: "HTTP 503"}, 10 * time.Millisecond, 400},
		"a connection that is slow": {measure.Fault{Kind: measure.Connection, Unreached: true}, time.Second, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := closed(t.Context(), plan(0, 5*time.Second), 2, fails(tt.fault, tt.after))
				if r.Answered != 20 || r.Errors != 2*tt.want || r.Elapsed < 5*time.Second {
					t.Errorf("%d answered, %d errors in %v, want %d errors", r.Answered, r.Errors, r.Elapsed, 2*tt.want)
				}
			})
		})
	}
}

// A server that is back is found by the next request, and rests begin anew.
func TestClosedRestsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &server{serve: func(context.Context) error {
			if n++; n%3 == 0 {
				return nil
			}
			return &measure.Fault{Kind: measure.Connection, Unreached: true}
		}}
		if r := closed(t.Context(), plan(9, 0), 1, s); r.Elapsed != 3*30*time.Millisecond || r.Answered != 3 {
			t.Errorf("took %v, %+v", r.Elapsed, r)
		}
	})
}

// A caller that rests does not outlive a test that is ended.
func TestClosedRestIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer cancel()
		recorder := measure.NewRecorder()
		load.Closed(ctx, plan(1000, 0), 1, fails(measure.Fault{Kind: measure.Connection}, 0), recorder)
		if r := recorder.Result(); r.Elapsed > 2*time.Second {
			t.Errorf("took %v", r.Elapsed)
		}
	})
}
