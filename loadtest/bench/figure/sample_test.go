package figure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/measure"
)

func TestSampleOf(t *testing.T) {
	got := figure.SampleOf(measure.Result{
		Elapsed: 2 * time.Second, Answered: 10, Errors: 3, Latency: measure.Spread{P50: 1500 * time.Microsecond, P99: 20 * time.Millisecond},
	})
	if diff := cmp.Diff(figure.Sample{Throughput: 5, P50: 1.5, P99: 20, Errors: 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Value, got.Batch = 7, 8
	for name, tt := range map[string]struct {
		number func(figure.Sample) float64
		want   float64
	}{"throughput": {figure.Throughput, 5}, "p50": {figure.P50, 1.5}, "p99": {figure.P99, 20}, "value": {figure.Value, 7}, "batch": {figure.Batch, 8}} {
		if v := tt.number(got); v != tt.want {
			t.Errorf("%s is %v, want %v", name, v, tt.want)
		}
	}
}
