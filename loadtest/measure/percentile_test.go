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
