package search_test

import (
	"testing"
	"time"

	"triptych/loadtest/search"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
)

func TestLongest(t *testing.T) {
	one := stage.Stage{Duration: 5 * time.Second, Warmup: stage.Warmup{Duration: 10 * time.Second}}
	latency := one
	p99, err := threshold.Parse("p99 < 1s")
	if err != nil {
		t.Fatal(err)
	}
	latency.Thresholds = []threshold.Threshold{p99}
	for name, tt := range map[string]struct {
		search interface{ Longest() time.Duration }
		want   time.Duration
	}{
		"rate":                       {search.Rate{Least: 0.001, Steps: 4, Tries: 2, Stage: one, LongestStep: time.Minute}, 8 * 15 * time.Second},
		"rate, steps are lengthened": {search.Rate{Least: 0.001, Steps: 4, Tries: 2, Stage: latency, LongestStep: time.Minute}, 8 * 70 * time.Second},
		"capacity":                   {search.Capacity{From: 1, Most: 9, Stage: one}, 4 * 15 * time.Second},
	} {
		if got := tt.search.Longest(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
