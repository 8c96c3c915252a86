package measure_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/measure"
)

func TestPercentiles(t *testing.T) {
	r := measure.NewRecorder()
	for i := 1; i <= 10_000; i++ {
		r.Started()
		r.Answered(measure.Answer{Sent: 3, Received: 2}, time.Duration(i)*time.Millisecond, 0)
	}
	got := r.Result()
	near := func(name string, got, want time.Duration) {
		t.Helper()
		if diff := (got - want).Abs(); float64(diff) > 0.001*float64(want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	l := got.Latency
	near("p50", l.P50, 5000*time.Millisecond)
	near("p90", l.P90, 9000*time.Millisecond)
	near("p95", l.P95, 9500*time.Millisecond)
	near("p99", l.P99, 9900*time.Millisecond)
	near("p99.9", l.P999, 9990*time.Millisecond)
	if l.Min != time.Millisecond || l.Max != 10*time.Second || l.Mean != 5000500*time.Microsecond {
		t.Errorf("min %v, mean %v, max %v", l.Min, l.Mean, l.Max)
	}
	if got.Sent != 30_000 || got.Received != 20_000 || got.Requests() != 10_000 || got.InFlight != 0 {
		t.Errorf("result %+v", got)
	}
}

func TestExtremes(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 1, 100 * time.Hour} {
		r := measure.NewRecorder()
		r.Started()
		r.Answered(measure.Answer{}, d, d)
		if l := r.Result().Latency; l.Min != max(d, 0) || l.Max != max(d, 0) || l.P99 < l.Min || l.P99 > l.Max {
			t.Errorf("of %v: %+v", d, l)
		}
	}
}

func TestNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := measure.NewRecorder().Result()
		if diff := cmp.Diff(measure.Result{Faults: []measure.FaultCount{}}, got); diff != "" || got.Throughput() != 0 {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

func TestThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := measure.NewRecorder()
		for range 10 {
			r.Started()
			r.Answered(measure.Answer{}, time.Second, 0)
		}
		time.Sleep(4 * time.Second)
		if got := r.Result().Throughput(); got != 2.5 {
			t.Errorf("throughput %v", got)
		}
	})
}

func TestFaults(t *testing.T) {
	r := measure.NewRecorder()
	fail := func(kind, message string) {
		if kind != measure.Overrun {
			r.Started()
		}
		r.Failed(measure.Fault{Kind: kind, Message: message}, 3*time.Millisecond)
	}
	fail("HTTP 503", "first")
	fail("HTTP 503", "second")
	fail(measure.Overrun, "late")
	fail("a\x1b[31m", strings.Repeat("x\n", 200))
	d := 3 * time.Millisecond
	twice := measure.Spread{Count: 2, Min: d, Mean: d, P50: d, P90: d, P95: d, P99: d, P999: d, Max: d}
	once := twice
	once.Count = 1
	want := []measure.FaultCount{
		{Kind: "HTTP 503", Count: 2, Example: "first", Latency: twice},
		{Kind: "a [31m", Count: 1, Example: strings.Repeat("x ", 100) + "...", Latency: once},
		{Kind: "overrun", Count: 1, Example: "late"},
	}
	got := r.Result()
	if diff := cmp.Diff(want, got.Faults); diff != "" || got.Errors != 4 || got.InFlight != 0 {
		t.Errorf("%d errors, %d in flight, faults (-want +got):\n%s", got.Errors, got.InFlight, diff)
	}
}

// A server chooses the names of its errors: they must not fill the memory.
func TestWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		result measure.Result
		want   string
	}{
		"all answered":  {measure.Result{Answered: 2}, ""},
		"some failed":   {measure.Result{Answered: 2, Errors: 3, Abandoned: 1, Faults: []measure.FaultCount{{Kind: "a", Count: 2, Example: "it rains"}, {Kind: "b", Count: 1}}}, "3 of 6 requests failed, most of them with a: it rains"},
		"none answered": {measure.Result{Abandoned: 2}, "there were no answers"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.result.Whole(); (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestKindsAreBounded(t *testing.T) {
	r := measure.NewRecorder()
	for i := range 1000 {
		r.Started()
		r.Failed(measure.Fault{Kind: fmt.Sprint(i)}, time.Second)
	}
	got := r.Result()
	if len(got.Faults) > 51 || got.Errors != 1000 || got.Faults[0].Kind != measure.Other || got.Faults[0].Count != 950 {
		t.Errorf("%d kinds, %d errors, first %+v", len(got.Faults), got.Errors, got.Faults[0])
	}
}

func TestFaultOf(t *testing.T) {
	fault := &measure.Fault{Kind: "k", Message: "m"}
	if got := measure.FaultOf(fmt.Errorf("act: %w", fault)); got != *fault {
		t.Errorf("got %+v", got)
	}
	if got := measure.FaultOf(errors.New("text")); got.Kind != measure.Other || got.Message != "text" {
		t.Errorf("got %+v", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := measure.NewRecorder()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				r.Started()
				switch i % 3 {
				case 0:
					r.Answered(measure.Answer{}, time.Millisecond, 0)
				case 1:
					r.Failed(measure.Fault{Kind: "k"}, time.Second)
				default:
					r.Abandoned()
				}
				if i%100 == 0 {
					r.Result()
				}
			}
		})
	}
	wg.Wait()
	if got := r.Result(); got.Requests() != 4000 || got.InFlight != 0 {
		t.Errorf("result %+v", got)
	}
}

func TestCPUTime(t *testing.T) {
	before := measure.CPUTime()
	for deadline := time.Now().Add(30 * time.Millisecond); time.Now().Before(deadline); {
	}
	if used := measure.CPUTime() - before; used <= 0 {
		t.Errorf("CPU time %v", used)
	}
}

func BenchmarkAnswered(b *testing.B) {
	r := measure.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		r.Started()
		r.Answered(measure.Answer{}, 12345*time.Microsecond, 0)
	}
}
