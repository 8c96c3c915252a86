package steady_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"triptych/loadtest/steady"
)

// judged is how many windows it takes until a detector says steady; 0 when it does
// not within most.
func judged(most int, window func(n int) (throughput, latency float64)) int {
	var d steady.Detector
	for n := range most {
		d.Add(window(n))
		if d.Steady() {
			return n + 1
		}
	}
	return 0
}

func TestSteady(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	noise := func(v, part float64) float64 { return v * (1 + part*random.NormFloat64()) }
	for name, tt := range map[string]struct {
		window      func(n int) (throughput, latency float64)
		least, most int // windows; 0 for never
	}{
		"always the same":    {func(int) (float64, float64) { return 100, 0.01 }, steady.Windows, steady.Windows},
		"noise of a fifth":   {func(int) (float64, float64) { return noise(100, 0.2), noise(0.01, 0.2) }, steady.Windows, 40},
		"a slow start":       {func(n int) (float64, float64) { return 100, 0.01 + math.Exp(-float64(n)/8) }, 30, 140},
		"a slow noisy start": {func(n int) (float64, float64) { return noise(100-80*math.Exp(-float64(n)/5), 0.05), 0.01 }, 15, 60},
		"a queue that grows": {func(n int) (float64, float64) { return 100, float64(n + 1) }, 0, 0},
		"a rate that falls":  {func(n int) (float64, float64) { return noise(1000*math.Exp(-float64(n)/40), 0.01), 0.01 }, 0, 0},
		"ever faster growth": {func(n int) (float64, float64) { return 100, math.Exp(float64(n) / 10) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(200, tt.window)
			if got < tt.least || got > tt.most {
				t.Errorf("steady after %d windows, want from %d to %d", got, tt.least, tt.most)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	var d steady.Detector
	if got := d.Missing(); got != "there were too few answers to judge" {
		t.Errorf("of nothing: %q", got)
	}
	for n := range steady.Windows {
		d.Add(100, float64(n+1))
	}
	if got := d.Missing(); got != "latency still drifted" {
		t.Errorf("of a queue: %q", got)
	}
	for n := range 2 * steady.Windows {
		d.Add(float64(100*(n+2)), float64(n+20))
	}
	if got := d.Missing(); got != "throughput and latency still drifted" {
		t.Errorf("of both: %q", got)
	}
	var e steady.Detector
	for range steady.Windows {
		e.Add(1, 1)
	}
	if got := e.Missing(); got != "" {
		t.Errorf("of what is steady: %q", got)
	}
}
