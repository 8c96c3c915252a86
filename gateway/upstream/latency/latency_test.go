package latency_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"triptych/gateway/upstream/latency"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestQuantiles are not below the true ones, and above them by a quarter at most.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, scale := range []time.Duration{50 * time.Microsecond, 3 * time.Millisecond, time.Second, time.Hour} {
		var w latency.Window
		var all []time.Duration
		for range 1000 {
			d := scale + time.Duration(rand.Int64N(int64(10*scale)))
			all = append(all, d)
			w.Add(now, d)
		}
		slices.Sort(all)
		for _, q := range []float64{.1, .5, .9, .99} {
			got, of := w.Quantile(now, q)
			want := all[int(q*1000)]
			if got < want || got > want+want/4+time.Microsecond || of != 1000 {
				t.Errorf("quantile %v of %d is %s, want %s", q, of, got, want)
			}
		}
	}
}

func TestExtremes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var w latency.Window
	if d, of := w.Quantile(now, .99); d != 0 || of != 0 {
		t.Errorf("of nothing: %s of %d", d, of)
	}
	w.Add(now, -1)
	if d, of := w.Quantile(now, .99); d != 5*time.Microsecond || of != 1 {
		t.Errorf("of one that took nothing: %s of %d", d, of)
	}
	w.Add(now, 1<<62)
	if d, of := w.Quantile(now, .99); d < 24*time.Hour || of != 2 {
		t.Errorf("of one that took for ever: %s of %d", d, of)
	}
}

func TestForgets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var w latency.Window
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {14 * time.Second, 2}, {2 * time.Second, 3}, {14 * time.Second, 4}, {2 * time.Second, 3}, {time.Minute, 1}} {
		now = now.Add(step.after)
		w.Add(now, time.Second)
		if _, of := w.Quantile(now, .5); of != step.want {
			t.Errorf("after %s it remembers %d, want %d", step.after, of, step.want)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	var w latency.Window
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		w.Add(now, time.Millisecond)
	}
}
