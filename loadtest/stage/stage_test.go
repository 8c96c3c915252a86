package stage_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
)

// watched remembers the phases that were shown.
type watched struct {
	mu     sync.Mutex
	phases []string
}

func (w *watched) Watch(phase string, _ *measure.Recorder) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phases = append(w.phases, phase)
	return func() {}
}

// server takes as long as a function says, by the time since its start.
type server struct {
	start time.Time
	takes func(since time.Duration) time.Duration
}

func (s *server) Do(ctx context.Context, _ int) (measure.Answer, error) {
	timer := time.NewTimer(s.takes(time.Since(s.start)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return measure.Answer{}, nil
	case <-ctx.Done():
		return measure.Answer{}, ctx.Err()
	}
}

func run(t *testing.T, s stage.Stage, takes func(since time.Duration) time.Duration) (stage.Result, []string) {
	t.Helper()
	var shown watched
	r := stage.Runner{Workload: workload.Of("test", &server{time.Now(), takes}, 1), Progress: &shown}
	s.Timeout = 30 * time.Second
	return r.Run(t.Context(), s), shown.phases
}

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

func conditions(t *testing.T, texts ...string) []threshold.Threshold {
	t.Helper()
	var list []threshold.Threshold
	for _, text := range texts {
		c, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

func TestClosedStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, phases := run(t, stage.Stage{
			Name: "one", Concurrency: 2, Duration: 10 * time.Second, Warmup: stage.Warmup{Duration: time.Second},
			Thresholds: conditions(t, "p99 < 20ms", "throughput > 1000"),
		}, always(10*time.Millisecond))
		if r.Result.Answered != 2000 || r.Warmup.Result.Answered != 200 || r.Corrected.P99 != 10*time.Millisecond || r.Stalled() {
			t.Errorf("%+v", r)
		}
		if !r.Verdicts[0].Met || r.Verdicts[1].Met || r.Met() || r.Percentile(99) != 10*time.Millisecond {
			t.Errorf("verdicts %+v", r.Verdicts)
		}
		if got := strings.Join(phases, ", "); got != "one (warm-up), one" {
			t.Errorf("shown: %s", got)
		}
		if len(r.Intervals) < 10 || len(r.Percentiles) == 0 || r.Began.Sub(r.Started) != time.Second {
			t.Errorf("%d intervals, %d percentiles, began %v later", len(r.Intervals), len(r.Percentiles), r.Began.Sub(r.Started))
		}
	})
}

// A server that gets faster for 10 s is measured only then.
func TestWarmupUntilSteady(t *testing.T) {
	slowStart := func(since time.Duration) time.Duration {
		return 10*time.Millisecond + max(0, 10*time.Second-since)/100
	}
	for name, load := range map[string]stage.Stage{
		"closed": {Concurrency: 4},
		"open":   {Arrivals: load.Arrivals{Rate: 50, MaxOutstanding: 1000, Seed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				load.Duration, load.Warmup = 10*time.Second, stage.Automatic()
				r, _ := run(t, load, slowStart)
				if took := r.Began.Sub(r.Started); took < 10*time.Second || took > 45*time.Second || r.Warmup.Note != "" {
					t.Errorf("warmed up for %v, note %q", took, r.Warmup.Note)
				}
				if r.Result.Latency.Max != 10*time.Millisecond {
					t.Errorf("measured %+v", r.Result.Latency)
				}
			})
		})
	}
}

func TestWarmupThatIsNeverSteady(t *testing.T) {
	for name, tt := range map[string]struct {
		takes func(time.Duration) time.Duration
		want  string
	}{
		"slower and slower": {func(since time.Duration) time.Duration { return 10*time.Millisecond + since/20 }, "not steady after 20s: throughput and latency still drifted"},
		"no answers":        {always(time.Hour), "not steady after 20s: there were too few answers to judge"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := stage.Automatic()
				w.Duration = 20 * time.Second
				r, _ := run(t, stage.Stage{Concurrency: 2, Duration: time.Second, Warmup: w}, tt.takes)
				if r.Warmup.Note != tt.want {
					t.Errorf("note %q, want %q", r.Warmup.Note, tt.want)
				}
			})
		})
	}
}

// A closed loop that stalls says that its latencies are not to be believed.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := func(since time.Duration) time.Duration {
			if since > 5*time.Second && since < 7*time.Second {
				return 7*time.Second - since
			}
			return time.Millisecond
		}
		r, _ := run(t, stage.Stage{Concurrency: 1, Duration: 10 * time.Second}, stalls)
		if !r.Stalled() || r.Result.Latency.P99 > 2*time.Millisecond || r.Corrected.P99 < 1500*time.Millisecond {
			t.Errorf("seen %+v, corrected %+v", r.Result.Latency, r.Corrected)
		}
	})
}

func TestHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown watched
		r := stage.Runner{
			Workload: workload.Of("test", &server{time.Now(), always(time.Minute)}, 1), Progress: &shown,
			Hopeless: func(r measure.Result, _ stage.Stage) bool { return r.InFlight > 10 },
		}
		got := r.Run(t.Context(), stage.Stage{Timeout: time.Hour, Duration: time.Hour, Arrivals: load.Arrivals{Rate: 10, MaxOutstanding: 1000}})
		if got.Result.Elapsed > 5*time.Second || got.Interrupted || !got.GivenUp || got.Result.Abandoned < 10 {
			t.Errorf("interrupted %t, given up %t: %+v", got.Interrupted, got.GivenUp, got.Result)
		}
	})
}

// One of which there is hope until its end, or until the caller ends it, was not
// given up.
func TestHopeful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stage.Runner{
			Workload: workload.Of("test", &server{time.Now(), always(time.Millisecond)}, 1), Progress: &watched{},
			Hopeless: func(measure.Result, stage.Stage) bool { return false },
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		for _, want := range []bool{false, true} { // interrupted
			if got := r.Run(ctx, stage.Stage{Concurrency: 1, Duration: 2 * time.Second, Timeout: time.Second}); got.Interrupted != want || got.GivenUp {
				t.Errorf("interrupted %t, given up %t", got.Interrupted, got.GivenUp)
			}
		}
	})
}

func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		whole, timeline := measure.NewRecorder(), measure.NewTimeline()
		r := stage.Runner{Workload: workload.Of("test", &server{time.Now(), always(time.Millisecond)}, 1), Progress: &watched{}, Whole: whole, Timeline: timeline}
		got := r.Run(ctx, stage.Stage{Concurrency: 1, Duration: time.Hour, Timeout: time.Second, Warmup: stage.Warmup{Duration: time.Second}})
		if !got.Interrupted || got.Result.Answered < 1900 || whole.Result().Answered != got.Result.Answered {
			t.Errorf("%+v", got.Result)
		}
		if n := len(timeline.Intervals()); n == 0 {
			t.Error("the warm-up is not on the timeline")
		}
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		got = r.Run(ctx, stage.Stage{Concurrency: 1, Duration: time.Hour, Timeout: time.Second, Warmup: stage.Automatic()})
		if !got.Interrupted || got.Result.Answered != 0 || got.Warmup.Note != "" {
			t.Errorf("in the warm-up: %+v", got)
		}
	})
}

func TestDescribe(t *testing.T) {
	for want, s := range map[string]stage.Stage{
		"closed loop, 3 in flight":                                              {Concurrency: 3},
		"open loop, 5 requests a second, at most 9 in flight":                   {Arrivals: load.Arrivals{Rate: 5, MaxOutstanding: 9}},
		"open loop, from 5 to 0.5 requests a second, at most 9 in flight":       {Arrivals: load.Arrivals{Rate: 5, Until: 0.5, Ramp: true, MaxOutstanding: 9}},
		"open loop, 5 requests a second at even distances, at most 9 in flight": {Arrivals: load.Arrivals{Rate: 5, Even: true, MaxOutstanding: 9}},
	} {
		if got := s.Describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
