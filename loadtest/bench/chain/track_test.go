package chain

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/measure"
)

// toy takes as many milliseconds as the number of the item, and refuses 13.
type toy struct{}

func (toy) Do(_ context.Context, n int) (measure.Answer, error) {
	time.Sleep(time.Duration(n) * time.Millisecond)
	if n == 13 {
		return measure.Answer{}, errors.New("no")
	}
	return measure.Answer{}, nil
}

func TestTrack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		track := &track{Target: toy{}}
		began := time.Now()
		for _, n := range []int{10, 20, 30, 13, 5} { // begin at 0, 10, 30, 60, 73
			_, _ = track.Do(t.Context(), n)
		}
		got := track.worst(began, began.Add(90*time.Millisecond), 30*time.Millisecond)
		want := []time.Duration{20 * time.Millisecond, 30 * time.Millisecond, math.MaxInt64}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := p99Of(track, began, began.Add(60*time.Millisecond)); got != 30*time.Millisecond {
			t.Errorf("p99 %s", got)
		}
		for _, to := range []time.Time{began, began.Add(-1)} {
			if got := p99Of(track, began, to); got != 0 {
				t.Errorf("p99 of nothing is %s", got)
			}
		}
		if got := track.worst(began.Add(time.Hour), began.Add(time.Hour+1), 1); got[0] != 0 {
			t.Errorf("a quiet hour has %v", got)
		}
	})
}

func TestFirstCalm(t *testing.T) {
	for name, tt := range map[string]struct {
		worst []time.Duration
		want  int
	}{
		"calm":        {[]time.Duration{1, 2, 1}, 0},
		"at once":     {[]time.Duration{9, 1, 1}, 1},
		"once more":   {[]time.Duration{9, 1, 9, 1}, 3},
		"never again": {[]time.Duration{1, 9}, 2},
		"nothing":     {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := firstCalm(tt.worst, 2); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestFate(t *testing.T) {
	for kind, want := range map[string]string{
		"gRPC RESOURCE_EXHAUSTED BUSY": refusedName, "gRPC UNAVAILABLE": refusedName,
		"gRPC INTERNAL": failedName, measure.Timeout: failedName, measure.Overrun: lateName,
	} {
		if got := fate(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
