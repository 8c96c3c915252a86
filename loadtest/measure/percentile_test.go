package measure_test

import (
	"testing"
	"time"

	"triptych/loadtest/measure"
)

func TestPercentile(t *testing.T) {
	r := measure.NewRecorder()
	if got := r.Percentile(99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 1000 {
		r.Started()
		r.Answered(measure.Answer{}, time.Duration(i+1)*time.Millisecond, 0)
	}
	for percent, want := range map[float64]time.Duration{50: 500 * time.Millisecond, 75: 750 * time.Millisecond, 99.9: 999 * time.Millisecond, 100: time.Second} {
		if got := r.Percentile(percent); (got - want).Abs() > want/1000 {
			t.Errorf("p%v = %v, want %v", percent, got, want)
		}
	}
}

// A caller of 1,000 requests of a millisecond each that then waits 10 s has hidden
// those of 10 s: more than nine of ten were due while it waited.
func TestCorrected(t *testing.T) {
	r := measure.NewRecorder()
	for i := range 1001 {
		latency := time.Millisecond
		if i == 1000 {
			latency = 10 * time.Second
		}
		r.Started()
		r.Answered(measure.Answer{}, latency, 0)
	}
	seen, corrected := r.Result().Latency, r.Corrected()
	if seen.P99 > 2*time.Millisecond {
		t.Errorf("seen: p99 %v", seen.P99)
	}
	if corrected.P50 < 4*time.Second || corrected.P50 > 5*time.Second || corrected.P99 < 9*time.Second || corrected.Max != 10*time.Second {
		t.Errorf("corrected: %+v", corrected)
	}
	if corrected.Mean < 4*time.Second || corrected.Mean > 5*time.Second {
		t.Errorf("corrected: mean %v", corrected.Mean)
	}
}

// A percentile says something when one value lies behind it.
func TestTells(t *testing.T) {
	for _, test := range []struct {
		count   int64
		percent float64
		want    bool
	}{
		{0, 50, false},
		{1, 50, false},
		{2, 50, true},
		{9, 90, false},
		{10, 90, true},
		{19, 95, false},
		{20, 95, true},
		{99, 99, false},
		{100, 99, true},
		{107, 99.9, false},
		{999, 99.9, false},
		{1000, 99.9, true},
		{1 << 40, 99.9, true},
		{1 << 40, 100, false},
	} {
		if got := (measure.Spread{Count: test.count}).Tells(test.percent); got != test.want {
			t.Errorf("%g %% of %d: %v", test.percent, test.count, got)
		}
	}
	r := measure.NewRecorder()
	for range 7 {
		r.Started()
		r.Answered(measure.Answer{}, time.Millisecond, 0)
	}
	if got := r.Result(); got.Latency.Count != 7 || got.Lateness.Count != 7 {
		t.Errorf("counted %d and %d", got.Latency.Count, got.Lateness.Count)
	}
}

// Where nothing stalls, nothing is corrected; and a stall of a million intervals
// takes no million steps.
func TestCorrectedAtTheEnds(t *testing.T) {
	r := measure.NewRecorder()
	if got := r.Corrected(); got != (measure.Spread{}) {
		t.Errorf("of nothing: %+v", got)
	}
	for range 100 {
		r.Started()
		r.Answered(measure.Answer{}, 3*time.Millisecond, 0)
	}
	if got := r.Corrected(); got.P50 != 3*time.Millisecond || got.Max != 3*time.Millisecond {
		t.Errorf("of a steady server: %+v", got)
	}
	r = measure.NewRecorder()
	for i := range 100 {
		r.Started()
		r.Answered(measure.Answer{}, []time.Duration{10 * time.Microsecond, time.Hour}[i/99], 0)
	}
	if got := r.Corrected(); got.P50 < 29*time.Minute || got.P50 > 31*time.Minute {
		t.Errorf("of an hour: %+v", got)
	}
}

func TestItems(t *testing.T) {
	r := measure.NewRecorder()
	for _, items := range []int{0, 20} {
		r.Started()
		r.Answered(measure.Answer{Items: items}, time.Millisecond, 0)
	}
	if got := r.Result(); got.Answered != 2 || got.Items != 21 {
		t.Errorf("%+v", got)
	}
}
