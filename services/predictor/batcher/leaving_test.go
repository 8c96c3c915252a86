package batcher_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// BAT-02: 200 callers that go away at any moment leave a batcher that works.
func TestCancellationStorm(t *testing.T) {
	for _, d := range []time.Duration{0, time.Millisecond} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const run = 2 * time.Millisecond
				b := start(t, &fakeModel{took: run}, delay(d))
				random := rand.New(rand.NewPCG(1, uint64(d)))
				var group sync.WaitGroup
				for n := range uint32(200) {
					patience := time.Duration(random.Int64N(int64(10 * time.Millisecond)))
					group.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						got := <-b.send(ctx, t, request(n, 1, 4))
						if got.err != nil && failure.KindOf(got.err) != failure.Deadline {
							t.Errorf("error %v", got.err)
						}
					})
				}
				group.Wait()
				synctest.Wait()
				if n := b.Pending(); n != 0 {
					t.Errorf("%d still wait", n)
				}
				time.Sleep(time.Second)
				if got := <-b.send(t.Context(), t, request(1000, 1, 4)); got.err != nil || got.took != d+run {
					t.Errorf("the patient caller: %v after %s, want %s", got.err, got.took, d+run)
				}
			})
		})
	}
}

// The same storm on the real clock and real threads, for the race detector.
func TestCancellationStormOnTheRealClock(t *testing.T) {
	b := start(t, &fakeModel{took: 100 * time.Microsecond}, delay(time.Millisecond), func(c *batcher.Config) { c.Instances = 2 })
	var group sync.WaitGroup
	for n := range uint32(200) {
		group.Go(func() {
			for round := range uint32(10) {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(3*time.Millisecond))
				req := request(n*10+round, 1+int(round%3), 4)
				<-b.send(ctx, t, req)
				// The memory is the caller's again: whoever still read it
				// would be seen by the race detector.
				clear(req.RawInputContents[0])
				cancel()
			}
		})
	}
	group.Wait()
	if got := <-b.send(t.Context(), t, request(1, 1, 4)); got.err != nil {
		t.Error(got.err)
	}
}

// BAT-03: a queue timeout is told when it passes, not when the running batch
// ends, and what timed out never runs.
func TestQueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 3 * time.Second}, func(c *batcher.Config) { c.Timeout = 300 * time.Millisecond })
		a := b.send(t.Context(), t, request(1, 1, 4))
		time.Sleep(10 * time.Millisecond)
		late := <-b.send(t.Context(), t, request(2, 1, 4))
		wantKind(t, late.err, failure.Deadline)
		if late.took != 300*time.Millisecond {
			t.Errorf("told after %s", late.took)
		}
		if got := <-a; got.err != nil {
			t.Error(got.err)
		}
		if b.model.ran(2) {
			t.Error("what timed out was executed")
		}
		if got := b.counter(t, "triptych_queue_dropped_total", "timeout"); got != 1 {
			t.Errorf("%v counted as timed out", got)
		}
	})
}

func TestQueueTimeoutOfTheRequest(t *testing.T) {
	cases := map[string]struct {
		override bool
		micros   int64
		want     time.Duration
	}{
		"shorter is taken":         {true, 100_000, 100 * time.Millisecond},
		"longer is not":            {true, 900_000, 300 * time.Millisecond},
		"zero is none":             {true, 0, 300 * time.Millisecond},
		"not without the override": {false, 100_000, 300 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{took: time.Second}, func(cfg *batcher.Config) {
					cfg.Timeout, cfg.TimeoutOverride = 300*time.Millisecond, c.override
				})
				a := b.send(t.Context(), t, request(1, 1, 4))
				synctest.Wait()
				req := request(2, 1, 4)
				req.Parameters = oip.Parameters{"timeout": oip.Int64(c.micros)}
				if got := <-b.send(t.Context(), t, req); got.took != c.want {
					t.Errorf("timed out after %s, want %s", got.took, c.want)
				}
				<-a
			})
		})
	}
}

// With the action DELAY a late request goes to the back of its lane and runs.
func TestQueueTimeoutDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 400 * time.Millisecond}, func(c *batcher.Config) {
			c.Timeout, c.TimeoutDelays, c.MaxBatchSize = 300*time.Millisecond, true, 1
		})
		a := b.send(t.Context(), t, request(1, 1, 4))
		synctest.Wait()
		late := b.send(t.Context(), t, request(2, 1, 4))
		time.Sleep(200 * time.Millisecond)
		fresh := b.send(t.Context(), t, request(3, 1, 4))
		for _, r := range []<-chan outcome{a, fresh, late} {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
		if want := [][]uint32{{1}, {3}, {2}}; !equalBatches(b.model.batches, want) {
			t.Errorf("ran %v, want %v", b.model.batches, want)
		}
	})
}

// BAT-04: rows that nobody waits for are dropped when the batch is formed.
func TestAbandonedRequestsAreNotExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, func(c *batcher.Config) { c.MaxBatchSize = 4 })
		var all []<-chan outcome
		for n := range uint32(40) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			t.Cleanup(cancel)
			all = append(all, b.send(ctx, t, request(n, 1, 4)))
			synctest.Wait()
		}
		fine := 0
		for _, r := range all {
			got := <-r
			if got.err == nil {
				fine++
				continue
			}
			wantKind(t, got.err, failure.Deadline)
			if got.took != 1500*time.Millisecond {
				t.Errorf("told after %s", got.took)
			}
		}
		time.Sleep(time.Minute)
		// One alone at 0s; four from 1s, all of whom go at 1.5s, so that the
		// run is stopped. Nobody else is executed.
		if fine != 1 || b.model.rows() != 5 {
			t.Errorf("%d answered, %d rows executed, want 1 and 5", fine, b.model.rows())
		}
		if got := b.counter(t, "triptych_queue_dropped_total", "deadline"); got != 35 {
			t.Errorf("%v counted as dropped, want 35", got)
		}
	})
}

// A waiting caller that goes away frees its place at once.
func TestLeavingFreesThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, func(c *batcher.Config) { c.MaxQueueSize = 1 })
		running := b.send(t.Context(), t, request(1, 1, 4))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		waiting := b.send(ctx, t, request(2, 1, 4))
		synctest.Wait()
		if n := b.Pending(); n != 1 {
			t.Errorf("%d wait", n)
		}
		wantKind(t, (<-b.send(t.Context(), t, request(3, 1, 4))).err, failure.Busy)
		cancel()
		gone := <-waiting
		wantKind(t, gone.err, failure.Cancelled)
		if gone.took != 0 || b.Pending() != 0 {
			t.Errorf("gone after %s, %d wait", gone.took, b.Pending())
		}
		next := b.send(t.Context(), t, request(4, 1, 4))
		<-running
		if got := <-next; got.err != nil {
			t.Error(got.err)
		}
		for reason, want := range map[string]float64{"full": 1, "cancelled": 1, "deadline": 0} {
			if got := b.counter(t, "triptych_queue_dropped_total", reason); got != want {
				t.Errorf("%v dropped as %s, want %v", got, reason, want)
			}
		}
	})
}

// A batch goes on as long as somebody waits for it, and is stopped when nobody
// does any longer.
func TestRunningBatchThatLosesItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 10 * time.Second}, delay(time.Millisecond))
		ctx, cancel := context.WithCancel(t.Context())
		leaves, stays := b.send(ctx, t, request(1, 1, 4)), b.send(t.Context(), t, request(2, 1, 4))
		time.Sleep(time.Second)
		cancel()
		if got := <-leaves; got.took != time.Second {
			t.Errorf("the caller that left got its error after %s", got.took)
		}
		if got := <-stays; got.timing.Executions != 1 {
			t.Errorf("nobody speaks for the batch: %+v", got.timing)
		} else if got.err != nil || got.took != 10*time.Second+time.Millisecond {
			t.Errorf("the caller that stayed: %v after %s", got.err, got.took)
		}

		alone, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		abandoned := b.send(alone, t, request(3, 1, 4))
		<-abandoned
		if got := <-b.send(t.Context(), t, request(4, 1, 4)); got.took != 10*time.Second+time.Millisecond {
			t.Errorf("the instance was not free: %s", got.took)
		}
	})
}

func TestACallerThatIsGoneAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantKind(t, (<-b.send(ctx, t, request(1, 1, 4))).err, failure.Cancelled)
		if b.model.rows() != 0 {
			t.Error("executed for nobody")
		}
	})
}
