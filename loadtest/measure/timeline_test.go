package measure_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/measure"
)

// answer counts one request that is answered at once, after it waited so long.
func answer(r *measure.Recorder, latency time.Duration) {
	r.Started()
	r.Answered(measure.Answer{}, latency, 0)
}

func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := measure.NewRecorder()
		for i := range 100 {
			answer(r, time.Duration(i+1)*time.Millisecond)
		}
		r.Started()
		time.Sleep(2500 * time.Millisecond) // nothing in the second between
		r.Failed(measure.Fault{Kind: "HTTP 503"}, 2500*time.Millisecond)
		r.Failed(measure.Fault{Kind: measure.Overrun}, 0)
		r.Failed(measure.Fault{Kind: measure.Overrun}, 0)
		r.Started()
		r.Abandoned()
		want := []measure.Interval{
			{Width: time.Second, Sent: 101, Answered: 100, P50: 50 * time.Millisecond, P90: 90 * time.Millisecond, P99: 99 * time.Millisecond, Max: 100 * time.Millisecond},
			{Start: time.Second, Width: time.Second},
			{Start: 2 * time.Second, Width: 500 * time.Millisecond, Sent: 1, Errors: []measure.KindCount{{Kind: "HTTP 503", Count: 1}, {Kind: measure.Overrun, Count: 2}}},
		}
		near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() <= max(a, b)/100 })
		time.Sleep(time.Hour) // reading it late does not change it
		got := r.Intervals()
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Errorf("intervals (-want +got):\n%s", diff)
		}
		if last := got[2]; last.Failed() != 3 || last.Offered() != 3 {
			t.Errorf("failed %d, offered %d", last.Failed(), last.Offered())
		}
	})
}

func TestTimelineOfNothing(t *testing.T) {
	if got := measure.NewRecorder().Intervals(); len(got) != 0 {
		t.Errorf("intervals %v", got)
	}
}

// However long a test is, intervals are few, equally long, and none is lost.
func TestTimelineIsBounded(t *testing.T) {
	tests := map[string]struct{ length, step, width time.Duration }{
		"4 minutes":  {4*time.Minute - 1, time.Second, time.Second},
		"5 minutes":  {5 * time.Minute, time.Second, 2 * time.Second},
		"30 minutes": {30 * time.Minute, 100 * time.Millisecond, 8 * time.Second},
		"a day":      {24 * time.Hour, time.Minute, 512 * time.Second},
		"a gap":      {24 * time.Hour, 12 * time.Hour, 512 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, want := measure.NewRecorder(), int64(0)
				for at := time.Duration(0); at <= test.length; at += test.step {
					answer(r, at/1000)
					r.Failed(measure.Fault{Kind: measure.Overrun}, 0)
					want++
					time.Sleep(test.step)
				}
				intervals := r.Intervals()
				var answered, failed int64
				for i, one := range intervals {
					answered, failed = answered+one.Answered, failed+one.Failed()
					if one.Start != time.Duration(i)*test.width || (i < len(intervals)-1 && one.Width != test.width) {
						t.Fatalf("interval %d: %v for %v, want each %v", i, one.Start, one.Width, test.width)
					}
				}
				if answered != want || failed != want || len(intervals) > 240 {
					t.Errorf("%d intervals with %d answers and %d errors, want %d", len(intervals), answered, failed, want)
				}
			})
		})
	}
}

// What a merged interval tells is of all its requests.
func TestTimelineMerges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := measure.NewRecorder()
		for i := range 100 {
			answer(r, time.Duration(i)*time.Millisecond)
		}
		time.Sleep(time.Second)
		for i := range 100 {
			answer(r, time.Duration(100+i)*time.Millisecond)
		}
		time.Sleep(5 * time.Minute)
		answer(r, time.Second)
		got := r.Intervals()[0]
		if got.Answered != 200 || got.P50 < 98*time.Millisecond || got.P50 > 102*time.Millisecond || got.Max != 199*time.Millisecond {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTimelineKindsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeline := measure.NewTimeline()
		for i := range 4 { // each knows 50 kinds, and there are others in each second
			r := measure.NewRecorderOn(timeline)
			for k := range 60 {
				r.Started()
				r.Failed(measure.Fault{Kind: fmt.Sprint(i, k)}, 0)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		measure.NewRecorderOn(timeline).Started()
		first := timeline.Intervals()[0]
		if first.Failed() != 240 || len(first.Errors) > 51 {
			t.Errorf("%d errors of %d kinds", first.Failed(), len(first.Errors))
		}
	})
}

func TestTimelineOfSeveralRecorders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeline := measure.NewTimeline()
		first := measure.NewRecorderOn(timeline)
		answer(first, time.Millisecond)
		time.Sleep(time.Second)
		second := measure.NewRecorderOn(timeline)
		answer(second, time.Millisecond)
		if n := len(timeline.Intervals()); n != 2 || first.Result().Answered != 1 || second.Result().Answered != 1 {
			t.Errorf("%d intervals, %+v, %+v", n, first.Result(), second.Result())
		}
	})
}

func TestRecorderWithoutATimeline(t *testing.T) {
	r := measure.NewRecorderOn(nil)
	answer(r, time.Millisecond)
	r.Failed(measure.Fault{Kind: measure.Overrun}, 0)
	if got := r.Result(); got.Answered != 1 || got.Errors != 1 || len(r.Intervals()) != 0 {
		t.Errorf("%+v with %d intervals", got, len(r.Intervals()))
	}
}

func TestPercentilesOfARun(t *testing.T) {
	r := measure.NewRecorder()
	if got := r.Percentiles(); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	for i := 1; i <= 10_000; i++ {
		answer(r, time.Duration(i)*time.Millisecond)
	}
	points := r.Percentiles()
	for i, p := range points {
		want := time.Duration(p.Percent * 100 * float64(time.Millisecond))
		if p.Percent > 1 && (p.Latency-want).Abs() > want/200 {
			t.Errorf("%v %% is %v", p.Percent, p.Latency)
		}
		if i > 0 && (p.Percent < points[i-1].Percent || p.Latency < points[i-1].Latency || p.Count < points[i-1].Count) {
			t.Errorf("%+v after %+v", p, points[i-1])
		}
	}
	last := points[len(points)-1]
	if last.Percent != 100 || last.Latency != 10*time.Second || last.Count != 10_000 || len(points) < 40 || len(points) > 100 {
		t.Errorf("%d points, the last %+v", len(points), last)
	}
}
