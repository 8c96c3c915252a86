package load_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// A ramp sends the mean of its rates, and its halves as their own means are.
func TestOpenRamps(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to    float64
		first, last float64 // expected in each half of 20 s
	}{
		"up":           {0, 100, 250, 750},
		"down":         {100, 0, 750, 250},
		"from a level": {50, 150, 750, 1250},
		"level":        {80, 80, 800, 800},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := takes(time.Millisecond)
				start := time.Now()
				r := open(t.Context(), plan(0, 20*time.Second), load.Arrivals{Rate: tt.from, Until: tt.to, Ramp: true, MaxOutstanding: 100, Seed: 3}, s)
				var first, last float64
				for _, at := range s.arrivals {
					if at.Sub(start) < 10*time.Second {
						first++
					} else {
						last++
					}
				}
				if math.Abs(first-tt.first) > 5*math.Sqrt(tt.first) || math.Abs(last-tt.last) > 5*math.Sqrt(tt.last) || r.Errors > 0 {
					t.Errorf("%v in the first half, %v in the second, want %v and %v", first, last, tt.first, tt.last)
				}
			})
		})
	}
}

func TestOpenAtEvenDistances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := takes(time.Millisecond)
		start := time.Now()
		open(t.Context(), plan(4, 0), load.Arrivals{Rate: 10, Even: true, MaxOutstanding: 10}, s)
		for i, at := range s.arrivals {
			if want := time.Duration(i+1) * 100 * time.Millisecond; (at.Sub(start) - want).Abs() > time.Microsecond {
				t.Errorf("request %d came after %v, want %v", i, at.Sub(start), want)
			}
		}
	})
}

func TestArrivalsStart(t *testing.T) {
	for name, tt := range map[string]struct {
		a    load.Arrivals
		want float64
	}{
		"steady":       {load.Arrivals{Rate: 5}, 5},
		"ramp":         {load.Arrivals{Rate: 5, Until: 10, Ramp: true}, 5},
		"from nothing": {load.Arrivals{Until: 10, Ramp: true}, 1},
		"to nothing":   {load.Arrivals{Rate: 10, Ramp: true}, 10},
	} {
		if got := tt.a.Start(); got.Rate != tt.want || got.Ramp {
			t.Errorf("%s: %+v, want a rate of %v", name, got, tt.want)
		}
	}
}

// sorted has two sorts of requests, of which the odd ones have no time.
type sorted struct {
	server *server
	odd    *measure.Recorder
}

func (s *sorted) Do(ctx context.Context, n int) (measure.Answer, error) { return s.server.Do(ctx, n) }

func (s *sorted) Sort(n int) (also []*measure.Recorder, deadline time.Duration) {
	if n%2 == 0 {
		return nil, 0
	}
	return []*measure.Recorder{s.odd}, 5 * time.Millisecond
}

func TestSorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &sorted{takes(10 * time.Millisecond), measure.NewRecorder()}
		recorder := measure.NewRecorder()
		p := plan(10, 0)
		p.Items = 10
		load.Closed(t.Context(), p, 1, target, recorder)
		all, odd := recorder.Result(), target.odd.Result()
		if all.Answered != 5 || all.Errors != 5 || odd.Answered != 0 || odd.Errors != 5 || odd.Faults[0].Kind != measure.Timeout || odd.Faults[0].Example != "no answer within 5ms" {
			t.Errorf("all %+v, odd %+v", all, odd)
		}
	})
}

func TestOverrunIsToldToSorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := &sorted{takes(time.Hour), measure.NewRecorder()}
		recorder := measure.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		p := plan(10, 0)
		p.Items = 10
		load.Open(ctx, p, load.Arrivals{Rate: 100, Even: true, MaxOutstanding: 1}, target, recorder)
		if all, odd := recorder.Result(), target.odd.Result(); all.Errors != 9 || odd.Errors != 5 || odd.InFlight != 0 {
			t.Errorf("all %+v, odd %+v", all, odd)
		}
	})
}
