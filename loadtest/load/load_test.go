package load_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// server is a target that takes some time, and remembers who came when.
type server struct {
	serve func(ctx context.Context) error

	mu       sync.Mutex
	arrivals []time.Time
	items    map[int]int
	now      int
	most     int // at once
}

func (s *server) Do(ctx context.Context, n int) (measure.Answer, error) {
	s.mu.Lock()
	s.arrivals = append(s.arrivals, time.Now())
	if s.items == nil {
		s.items = map[int]int{}
	}
	s.items[n]++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	err := s.serve(ctx)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return measure.Answer{}, err
}

// takes is a server that is always as slow.
func takes(d time.Duration) *server {
	return &server{serve: func(ctx context.Context) error { return sleep(ctx, d) }}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stalls is a server that takes a millisecond, but answers nobody from second 5
// to second 7.
func stalls() *server {
	start := time.Now()
	return &server{serve: func(ctx context.Context) error {
		if now := time.Since(start); now >= 5*time.Second && now < 7*time.Second {
			return sleep(ctx, 7*time.Second-now)
		}
		return sleep(ctx, time.Millisecond)
	}}
}

func plan(requests int64, duration time.Duration) load.Plan {
	return load.Plan{Requests: requests, Duration: duration, Timeout: 30 * time.Second, Items: 3}
}

func closed(ctx context.Context, p load.Plan, concurrency int, s *server) measure.Result {
	recorder := measure.NewRecorder()
	load.Closed(ctx, p, concurrency, s, recorder)
	return recorder.Result()
}

func open(ctx context.Context, p load.Plan, a load.Arrivals, s *server) measure.Result {
	recorder := measure.NewRecorder()
	load.Open(ctx, p, a, s, recorder)
	return recorder.Result()
}

func TestClosedSendsEachRequestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := takes(10 * time.Millisecond)
		r := closed(t.Context(), plan(100, 0), 7, s)
		if r.Answered != 100 || r.Errors != 0 || len(s.arrivals) != 100 || s.most != 7 {
			t.Errorf("answered %d, errors %d, arrived %d, at once %d", r.Answered, r.Errors, len(s.arrivals), s.most)
		}
		if s.items[0] != 34 || s.items[1] != 33 || s.items[2] != 33 {
			t.Errorf("items are not sent in turn: %v", s.items)
		}
		if want := 150 * time.Millisecond; r.Elapsed != want { // 100 requests, 7 at once
			t.Errorf("took %v, want %v", r.Elapsed, want)
		}
	})
}

func TestClosedEndsAfterItsDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := closed(t.Context(), plan(0, 995*time.Millisecond), 2, takes(10*time.Millisecond))
		if r.Answered != 200 || r.Elapsed != time.Second || r.Throughput() != 200 {
			t.Errorf("answered %d in %v, %v/s", r.Answered, r.Elapsed, r.Throughput())
		}
	})
}

// The proof that an open loop does not hide a stall: a fifth of the users come
// while the server stalls, and are counted with their wait. A closed loop sends
// one request meanwhile and finds nothing.
func TestOpenCountsFromThePlannedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t.Context(), plan(0, 10*time.Second), load.Arrivals{Rate: 100, MaxOutstanding: 1000, Seed: 1}, stalls())
		if l := r.Latency; l.P50 != time.Millisecond || l.P90 < 500*time.Millisecond || l.P99 < 1800*time.Millisecond || l.Max > 2*time.Second {
			t.Errorf("open loop: latency %+v", l)
		}
		if r.Errors != 0 || math.Abs(float64(r.Answered)-1000) > 100 {
			t.Errorf("open loop: answered %d, errors %v", r.Answered, r.Faults)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := closed(t.Context(), plan(0, 10*time.Second), 1, stalls())
		if l := r.Latency; l.P999 != time.Millisecond || l.Max < 1900*time.Millisecond {
			t.Errorf("closed loop: latency %+v", l)
		}
	})
}

// The gaps of a Poisson process have a mean of 1/rate and a standard deviation
// as great.
func TestOpenArrivesAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := takes(0)
		open(t.Context(), plan(20_000, 0), load.Arrivals{Rate: 1000, MaxOutstanding: 100, Seed: 7}, s)
		var sum, squares float64
		for i := 1; i < len(s.arrivals); i++ {
			gap := s.arrivals[i].Sub(s.arrivals[i-1]).Seconds()
			sum += gap
			squares += gap * gap
		}
		n := float64(len(s.arrivals) - 1)
		mean := sum / n
		deviation := math.Sqrt(squares/n - mean*mean)
		if len(s.arrivals) != 20_000 || math.Abs(mean-0.001) > 0.00005 || math.Abs(deviation-0.001) > 0.00005 {
			t.Errorf("%d arrivals, gaps have mean %v and deviation %v", len(s.arrivals), mean, deviation)
		}
	})
}

func TestOpenRepeatsItsArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := func(seed uint64) time.Duration {
			return open(t.Context(), plan(50, 0), load.Arrivals{Rate: 10, MaxOutstanding: 10, Seed: seed}, takes(0)).Elapsed
		}
		first, again, other := total(1), total(1), total(2)
		if first != again || first == other {
			t.Error("the seed does not decide the arrivals")
		}
	})
}

func TestOpenDropsWhatIsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := takes(time.Second)
		r := open(t.Context(), plan(1000, 0), load.Arrivals{Rate: 100, MaxOutstanding: 10, Seed: 1}, s)
		if s.most != 10 || r.Answered != int64(len(s.arrivals)) || r.Answered+r.Errors != 1000 || r.InFlight != 0 {
			t.Errorf("at once %d, arrived %d, result %+v", s.most, len(s.arrivals), r)
		}
		if len(r.Faults) != 1 || r.Faults[0].Kind != measure.Overrun || r.Faults[0].Count < 850 {
			t.Errorf("faults %+v", r.Faults)
		}
	})
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name  string
		serve func(ctx context.Context) error
		kind  string
	}{
		{"no answer in time", func(ctx context.Context) error { return sleep(ctx, time.Hour) }, measure.Timeout},
		{"a fault", func(context.Context) error { return &measure.Fault{Kind: "HTTP 429 BUSY", Message: "full"} }, "HTTP 429 BUSY"},
		{"another error", func(context.Context) error { return errors.New("strange") }, measure.Other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := closed(t.Context(), plan(5, 0), 1, &server{serve: tt.serve})
				if r.Answered != 0 || r.Errors != 5 || len(r.Faults) != 1 || r.Faults[0].Kind != tt.kind || r.InFlight != 0 {
					t.Errorf("result %+v", r)
				}
			})
		})
	}
}

// A deadline counts from when a request was due, so that waiting for the generator
// is no gift to the server.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []time.Duration
		s := &server{serve: func(ctx context.Context) error {
			limit, _ := ctx.Deadline()
			given = append(given, time.Until(limit))
			return sleep(ctx, 80*time.Millisecond)
		}}
		p := plan(3, 0)
		p.Deadline = 100 * time.Millisecond
		if r := closed(t.Context(), p, 1, s); r.Answered != 3 || given[0] != p.Deadline {
			t.Errorf("result %+v, given %v", r, given)
		}
		p.Deadline = 50 * time.Millisecond
		r := closed(t.Context(), p, 1, s)
		if r.Errors != 3 || r.Faults[0].Kind != measure.Timeout || r.Faults[0].Latency.P99 != p.Deadline || r.Faults[0].Example != "no answer within 50ms" {
			t.Errorf("result %+v", r)
		}
	})
}

func TestEndedEarly(t *testing.T) {
	run := map[string]func(context.Context, load.Plan, *server) measure.Result{
		"closed": func(ctx context.Context, p load.Plan, s *server) measure.Result { return closed(ctx, p, 4, s) },
		"open": func(ctx context.Context, p load.Plan, s *server) measure.Result {
			return open(ctx, p, load.Arrivals{Rate: 4, MaxOutstanding: 100, Seed: 1}, s)
		},
	}
	for name, run := range run {
		t.Run(name+" answers what is nearly done", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				r := run(ctx, plan(0, time.Hour), takes(500*time.Millisecond))
				if r.Abandoned != 0 || r.Errors != 0 || r.Answered == 0 || r.Elapsed > 3600*time.Millisecond {
					t.Errorf("result %+v", r)
				}
			})
		})
		t.Run(name+" gives up on the rest", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				r := run(ctx, plan(0, time.Hour), takes(10*time.Second))
				if r.Abandoned == 0 || r.Errors != 0 || r.Answered != 0 || r.Elapsed != 4*time.Second {
					t.Errorf("result %+v", r)
				}
			})
		})
	}
}
