package gate_test

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"triptych/gateway/admission/gate"
	"triptych/shared/call"
	"triptych/shared/failure"
)

// about is a time that varies as on a busy machine.
func about(d time.Duration) func() time.Duration {
	return func() time.Duration { return time.Duration(float64(d) * (0.7 + 0.6*rand.Float64())) }
}

// Three times as much as a model can do: it does what it can, those who are answered
// are answered soon, and everyone else is told at once.
func TestOverload(t *testing.T) {
	tests := map[string]struct {
		service  func() service
		capacity float64 // requests a second
		later    float64 // how much later the last answers may come than at 80 %
	}{
		"a few at a time": {func() service { return slots(4, about(20*time.Millisecond)) }, 200, 5}, // of which the least that may be in work is four times the best
		"many at a time":  {func() service { return slots(40, about(80*time.Millisecond)) }, 500, 3},
		"batches": {func() service {
			return (&batches{most: 16, fixed: 5 * time.Millisecond, each: 150 * time.Microsecond}).work
		}, 2162, 2.7},
		"large, slow batch": {func() service { return (&batches{most: 64, fixed: 80 * time.Millisecond, each: time.Millisecond}).work }, 444, 2.7},
		"slow":              {func() service { return slots(16, about(2*time.Second)) }, 8, 2.5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := gates(t)
				l := &load{gates: g, service: tt.service(), rate: 0.8 * tt.capacity}
				const d = 15 * time.Second
				usual := answered(l.run(t, d))
				l.rate = 3 * tt.capacity
				l.run(t, 10*time.Second)
				begin := time.Now()
				all := l.run(t, d)
				took := time.Since(begin).Seconds()
				good := answered(all)
				// Mostly it is above 0.9; one run is one throw of the dice.
				if rate := float64(len(good)) / took; rate < 0.8*tt.capacity {
					t.Errorf("%.0f answers a second, of %.0f", rate, tt.capacity)
				}
				if got, most := p99(good), 1.5*tt.later*p99(usual).Seconds(); got.Seconds() > most {
					t.Errorf("p99 is %s, at 80 %% it is %s", got, p99(usual))
				}
				for kind, n := range kinds(all) {
					if kind != failure.Busy {
						t.Errorf("%d ended as %s", n, kind)
					}
				}
				for _, o := range all {
					if o.err != nil && o.took > gate.DefaultConfig().MaxWait {
						t.Fatalf("refused after %s", o.took)
					}
				}
			})
		})
	}
}

// A model that becomes slower for good, and faster again, is found out about.
func TestLatencyChangesForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gates(t)
		var now atomic.Int64
		l := &load{gates: g, service: slots(32, func() time.Duration { return about(time.Duration(now.Load()))() })}
		for _, takes := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 10 * time.Millisecond} {
			now.Store(int64(takes))
			capacity := 32 / takes.Seconds()
			l.rate = 2 * capacity
			l.run(t, 15*time.Second)
			begin := time.Now()
			good := answered(l.run(t, 10*time.Second))
			if rate := float64(len(good)) / time.Since(begin).Seconds(); rate < 0.8*capacity {
				t.Errorf("at %s: %.0f answers a second, of %.0f", takes, rate, capacity)
			}
			if got := p99(good); got > 12*takes {
				t.Errorf("at %s: p99 is %s", takes, got)
			}
		}
	})
}

// Tenants get what is there by their weights, however much each asks for; what one
// leaves the others get.
func TestFairness(t *testing.T) {
	tests := map[string]struct {
		ann, bob float64 // offered, as parts of the capacity
		low, top float64 // ann's part of the answers
	}{
		"both want all":          {3, 3, 0.7, 0.8},
		"one wants far more":     {1.5, 6, 0.7, 0.8},
		"one wants little":       {0.3, 3, 0.26, 0.33},
		"the light wants little": {3, 0.1, 0.85, 0.93},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := gates(t, func(c *gate.Config) { c.Weights = "ann=3,bob=1" })
				const capacity = 400
				rng := rand.New(rand.NewPCG(5, 6))
				l := &load{gates: g, service: slots(16, about(40*time.Millisecond)), rate: capacity * (tt.ann + tt.bob), of: func(int) call.Info {
					if rng.Float64() < tt.ann/(tt.ann+tt.bob) {
						return call.Info{Tenant: "ann"}
					}
					return call.Info{Tenant: "bob"}
				}}
				l.run(t, 3*time.Second)
				good := answered(l.run(t, 10*time.Second))
				ann := 0.0
				for _, o := range good {
					if o.info.Tenant == "ann" {
						ann++
					}
				}
				if part := ann / float64(len(good)); part < tt.low || part > tt.top {
					t.Errorf("ann has %.2f of %d answers, want %.2f to %.2f", part, len(good), tt.low, tt.top)
				}
			})
		})
	}
}

// When there is too much, the urgent are answered and the others are not.
func TestUrgentGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gates(t)
		const capacity = 400
		// 40 % of the capacity is urgent, 40 % usual, and twice the capacity can wait.
		levels := []uint64{1, 0, 3, 3, 3, 3, 3}
		l := &load{gates: g, service: slots(16, about(40*time.Millisecond)), rate: 2.8 * capacity, of: func(n int) call.Info {
			return call.Info{Priority: levels[n%len(levels)]}
		}}
		l.run(t, 3*time.Second)
		got, all := map[uint64]float64{}, map[uint64]float64{}
		for _, o := range l.run(t, 10*time.Second) {
			all[o.info.Priority]++
			if o.err == nil {
				got[o.info.Priority]++
			}
		}
		for level, least := range map[uint64]float64{1: 0.99, 0: 0.97} {
			if part := got[level] / all[level]; part < least {
				t.Errorf("of level %d, %.3f were answered", level, part)
			}
		}
		if part := got[3] / all[3]; part > 0.2 || part < 0.05 {
			t.Errorf("of level 3, %.3f were answered", part)
		}
	})
}

// Nobody waits beyond its deadline, and nobody is let in who can't be answered in
// time.
func TestDeadlinesInOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gates(t)
		l := &load{gates: g, service: slots(16, about(40*time.Millisecond)), rate: 1200, timeout: 150 * time.Millisecond}
		all := l.run(t, 10*time.Second)
		expired := 0
		for _, o := range all {
			if o.took > 250*time.Millisecond {
				t.Fatalf("%v after %s", o.err, o.took)
			}
			if failure.KindOf(o.err) == failure.Deadline && o.err != nil {
				expired++
			}
		}
		if part := float64(expired) / float64(len(all)); part > 0.08 {
			t.Errorf("%.3f were let in for nothing", part)
		}
		if got := len(answered(all)); got < 0.7*400*10 {
			t.Errorf("%d answers", got)
		}
	})
}

// TestLateInside: callers who give up before the model has worked off what it was let
// to are nobody's measure of latency, and still the limit goes down, until about half of
// what the model can do is answered in time: the least limit is eight times the best here.
func TestLateInside(t *testing.T) {
	for name, hangsUp := range map[string]bool{"with a deadline": false, "who hang up": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _ := gates(t, func(c *gate.Config) {
					if hangsUp { // nobody can be told in time that it is too late
						c.Limit.Min = 2
					}
				})
				l := &load{gates: g, service: slots(2, about(20*time.Millisecond)), rate: 300, timeout: 250 * time.Millisecond, hangsUp: hangsUp}
				l.run(t, 25*time.Second)
				if n := len(answered(l.run(t, 10*time.Second))); n < 400 {
					t.Errorf("%d were answered in 10 s, by a model that can do 1000", n)
				}
			})
		})
	}
}

// TestImpatientCallers: deadlines that no answer could meet say nothing of the model,
// and take nothing from the others.
func TestImpatientCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, registry := gates(t)
		l := &load{gates: g, service: slots(64, about(100*time.Millisecond)), rate: 100}
		l.run(t, 5*time.Second)
		l.service, l.timeout = func() { time.Sleep(5 * time.Millisecond) }, time.Millisecond
		l.run(t, 10*time.Second)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(`
			# HELP triptych_admission_limit Requests of a model that may be in work, without the swing of measuring.
			# TYPE triptych_admission_limit gauge
			triptych_admission_limit{model="m"} 32
		`), "triptych_admission_limit"); err != nil {
			t.Error(err)
		}
	})
}
