package search_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/search"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
)

func condition(t *testing.T, text string) threshold.Threshold {
	t.Helper()
	c, err := threshold.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// limited is a server whose p99 is 10 ms up to a limit of requests a second, and
// a second beyond.
func limited(limit float64, lengths *[]time.Duration) search.Run {
	return func(_ context.Context, s stage.Stage) stage.Result {
		if lengths != nil {
			*lengths = append(*lengths, s.Duration)
		}
		latency := 10 * time.Millisecond
		if s.Arrivals.Rate > limit {
			latency = time.Second
		}
		r := stage.Result{Stage: s, Result: measure.Result{Elapsed: s.Duration, Answered: 1}, Percentile: func(float64) time.Duration { return latency }}
		r.Verdicts = threshold.All(s.Thresholds, r.Facts())
		return r
	}
}

func rate(t *testing.T) search.Rate {
	t.Helper()
	return search.Rate{
		From: 10, Most: 100_000, Precision: 0.05, Steps: 50, LongestStep: time.Minute,
		Stage: stage.Stage{Duration: time.Second, Thresholds: []threshold.Threshold{condition(t, "p99 < 100ms")}},
	}
}

func TestRate(t *testing.T) {
	for name, tt := range map[string]struct{ limit, best, worst float64 }{
		"above the first":  {333, 333, 333},
		"below the first":  {1.7, 1.7, 1.7},
		"above the most":   {1e9, 100_000, 0},
		"exactly a tried":  {160, 160, 160},
		"far below a half": {0.02, 0.02, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			told := 0
			a := rate(t).Search(t.Context(), limited(tt.limit, nil), func(search.Step) { told++ })
			if a.Best > tt.best || a.Best < tt.best/1.06 || tt.worst > 0 && (a.Worst < tt.worst || a.Worst > tt.worst*1.06) || told != len(a.Steps) {
				t.Errorf("best %v, worst %v after %d steps", a.Best, a.Worst, len(a.Steps))
			}
		})
	}
}

func TestNoRate(t *testing.T) {
	r := rate(t)
	r.Steps = 8
	a := r.Search(t.Context(), limited(0, nil), func(search.Step) {})
	if a.Best != 0 || len(a.Steps) != 8 || a.Worst != 10/math.Pow(2, 7) || !strings.Contains(a.Steps[0].Why, "p99 < 100ms was 1s") {
		t.Errorf("%+v", a)
	}
}

func TestNoRateAboveTheLeast(t *testing.T) {
	r := rate(t)
	r.Least = 2
	if a := r.Search(t.Context(), limited(0, nil), func(search.Step) {}); a.Best != 0 || a.Worst != 2.5 {
		t.Errorf("%+v", a)
	}
}

// A low rate is measured for longer, so that its p99 is more than its maximum.
func TestStepsAreLengthened(t *testing.T) {
	var lengths []time.Duration
	r := rate(t)
	r.Search(t.Context(), limited(333, &lengths), func(search.Step) {})
	if lengths[0] != 30*time.Second || lengths[1] != 15*time.Second || lengths[len(lengths)-1] != time.Second {
		t.Errorf("steps took %v", lengths)
	}
}

// One bad moment does not decide a rate that has two tries.
func TestTries(t *testing.T) {
	bad := true
	run := func(ctx context.Context, s stage.Stage) stage.Result {
		limit := 333.0
		if bad = !bad; !bad {
			limit = 0 // each rate's first try
		}
		return limited(limit, nil)(ctx, s)
	}
	r := rate(t)
	if a := r.Search(t.Context(), run, func(search.Step) {}); a.Best == 320 {
		t.Errorf("with one try each: %v", a.Best)
	}
	bad, r.Tries, r.Steps = true, 2, 3
	a := r.Search(t.Context(), run, func(search.Step) {})
	if a.Best != 40 || len(a.Steps) != 6 || a.Steps[0].Kept || !a.Steps[1].Kept {
		t.Errorf("best %v, %d steps", a.Best, len(a.Steps))
	}
}

// A queue that grows is no rate that a server keeps, however long may be waited.
func TestBacklog(t *testing.T) {
	r := rate(t)
	r.Steps = 1
	a := r.Search(t.Context(), func(_ context.Context, s stage.Stage) stage.Result {
		return stage.Result{Stage: s, Result: measure.Result{Elapsed: s.Duration * 6 / 5, Answered: 1}}
	}, func(search.Step) {})
	if a.Best != 0 || !strings.Contains(a.Steps[0].Why, "a backlog grew") {
		t.Errorf("%+v", a.Steps)
	}
}

// What a fragment of a step says is not enough for its conditions to be kept.
func TestGivenUp(t *testing.T) {
	for name, tt := range map[string]struct {
		latency time.Duration
		why     string
	}{
		"good until then": {time.Millisecond, "given up after 300ms"},
		"late until then": {time.Second, "p99 < 100ms was 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rate(t)
			r.Steps = 1
			a := r.Search(t.Context(), func(_ context.Context, s stage.Stage) stage.Result {
				got := stage.Result{
					Stage: s, GivenUp: true, Result: measure.Result{Elapsed: 300 * time.Millisecond, Answered: 1000, Errors: 1},
					Percentile: func(float64) time.Duration { return tt.latency },
				}
				got.Verdicts = threshold.All(s.Thresholds, got.Facts())
				return got
			}, func(search.Step) {})
			if a.Best != 0 || a.Worst != 10 || a.Steps[0].Kept || a.Steps[0].Why != tt.why {
				t.Errorf("best %v, kept %t, why %q, want %q", a.Best, a.Steps[0].Kept, a.Steps[0].Why, tt.why)
			}
		})
	}
}

func TestInterruptedSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	stopping := func(inner search.Run) search.Run {
		return func(ctx context.Context, s stage.Stage) stage.Result {
			if n++; n == 3 {
				cancel()
			}
			return inner(ctx, s)
		}
	}
	a := rate(t).Search(ctx, stopping(limited(1e9, nil)), func(search.Step) {})
	if !a.Interrupted || len(a.Steps) != 2 || a.Best != 20 {
		t.Errorf("%+v", a)
	}
	l := search.Capacity{From: 1, Most: 8, Gain: 0.05}.Search(ctx, limited(1, nil), func(search.Step) {})
	if !l.Interrupted || len(l.Steps) != 0 {
		t.Errorf("%+v", l)
	}
}

func TestHopeless(t *testing.T) {
	s := stage.Stage{Duration: 8 * time.Second, Thresholds: []threshold.Threshold{condition(t, "p99 < 100ms"), condition(t, "errors < 1%")}}
	late := measure.Spread{P50: 200 * time.Millisecond}
	for name, tt := range map[string]struct {
		r    measure.Result
		want bool
	}{
		"good":              {measure.Result{Elapsed: time.Second}, false},
		"late, but too few": {measure.Result{Elapsed: time.Second / 2, Latency: late}, false},
		"late":              {measure.Result{Elapsed: time.Second, Latency: late}, true},
		"full":              {measure.Result{Faults: []measure.FaultCount{{Kind: measure.Overrun, Count: 1}}}, true},
	} {
		if got := search.Hopeless(tt.r, s); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// served is a server with so many slots of 10 ms each.
func served(slots int) search.Run {
	return func(_ context.Context, s stage.Stage) stage.Result {
		return stage.Result{Stage: s, Result: measure.Result{Elapsed: time.Second, Answered: int64(100 * min(s.Concurrency, slots))}}
	}
}

func TestCapacity(t *testing.T) {
	for name, tt := range map[string]struct {
		slots, most int
		throughput  float64
		knee        float64
		grew        bool
		steps       int
	}{
		"between": {6, 1024, 600, 8, false, 6},
		"one":     {1, 1024, 100, 1, false, 3},
		"beyond":  {1000, 16, 1600, 16, true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			l := search.Capacity{From: 1, Most: tt.most, Gain: 0.05}.Search(t.Context(), served(tt.slots), func(search.Step) {})
			if l.Throughput != tt.throughput || l.Knee.Load != tt.knee || l.Grew != tt.grew || len(l.Steps) != tt.steps {
				t.Errorf("throughput %v with %v in flight, grew %v, %d steps", l.Throughput, l.Knee.Load, l.Grew, len(l.Steps))
			}
		})
	}
}
