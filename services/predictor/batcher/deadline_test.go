package batcher_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
)

// within is a context with so much time.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A request that can't be answered in time learns so at once, and when it could.
func TestHopelessIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(accelerator).model(), adaptive(0), func(c *batcher.Config) { c.PreserveOrdering = true })
		seed(b, accelerator)
		if got := <-b.sendAny(within(t, 4*time.Millisecond), request(1, 1, 1)); failure.KindOf(got.err) != failure.Deadline || got.took != 0 || failure.RetryAfter(got.err) != 0 {
			t.Errorf("a deadline before the shortest run: %v after %s, with the hint %s", got.err, got.took, failure.RetryAfter(got.err))
		}
		var running []<-chan outcome
		for range 16 + 32 { // one batch that runs, two that wait
			running = append(running, b.sendAny(t.Context(), request(1, 1, 1)))
		}
		synctest.Wait()
		got := <-b.sendAny(within(t, 20*time.Millisecond), request(2, 1, 1))
		wantKind(t, got.err, failure.Deadline)
		if got.took != 0 || !strings.Contains(failure.Message(got.err), "can't be answered within its deadline") {
			t.Errorf("refused after %s: %v", got.took, got.err)
		}
		if after := failure.RetryAfter(got.err); after < 4*time.Millisecond || after > 20*time.Millisecond {
			t.Errorf("the hint is %s", after)
		}
		if got := b.counter(t, "triptych_queue_dropped_total", "unmeetable"); got != 2 {
			t.Errorf("%v counted", got)
		}
		for _, r := range running {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
	})
}

// By Triton's rules nobody is refused for its deadline, and without knowledge of
// the cost nobody is either.
func TestDeadlinesThatAreNotJudged(t *testing.T) {
	for name, o := range map[string]option{"triton": tritons(0), "nothing known": adaptive(0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, device(accelerator).model(), o)
				if name == "triton" {
					seed(b, accelerator)
				}
				got := <-b.sendAny(within(t, 4*time.Millisecond), request(1, 1, 1))
				wantKind(t, got.err, failure.Deadline)
				if got.took < 4*time.Millisecond || !b.model.ran(1) {
					t.Errorf("told after %s", got.took)
				}
			})
		})
	}
}

// A request that was let in and is overtaken by more urgent ones is dropped as
// soon as its turn comes too late, and does not run.
func TestOvertakenIsDroppedBeforeItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := device(func(int) time.Duration { return 100 * time.Millisecond })
		b := start(t, slow.model(), adaptive(0), levels(2, 2))
		b.Learn(1, 100*time.Millisecond)
		running := b.sendAny(t.Context(), request(1, 1, 4))
		synctest.Wait()
		late := b.sendAny(within(t, 250*time.Millisecond), request(2, 1, 4))
		synctest.Wait()
		urgent := b.sendAny(t.Context(), priority(3, 1))
		<-running
		<-urgent
		got := <-late
		wantKind(t, got.err, failure.Deadline)
		if got.took != 200*time.Millisecond || b.model.ran(2) {
			t.Errorf("told after %s, ran: %t", got.took, b.model.ran(2))
		}
	})
}

// BAT-04 and overload: at three times what the device can do, with deadlines of
// 100 ms, nearly all that it can do is answered in time, and the others learn at
// once that they are not.
func TestOverloadWithDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := device(func(rows int) time.Duration { return 12*time.Millisecond + time.Duration(rows)*300*time.Microsecond })
		const capacity = 4 / 0.0132
		b := start(t, slow.model(), adaptive(10*time.Millisecond), func(c *batcher.Config) { c.MaxBatchSize = 4 })
		seed(b, slow)
		random := rand.New(rand.NewPCG(3, 3))
		var mu sync.Mutex
		var inTime, late, refused, slowly int
		var group sync.WaitGroup
		begin := time.Now()
		const long = 10 * time.Second
		for time.Since(begin) < long {
			time.Sleep(time.Duration(random.ExpFloat64() / (3 * capacity) * float64(time.Second)))
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				sent := time.Now()
				_, _, err := b.Do(ctx, request(1, 1, 1))
				mu.Lock()
				defer mu.Unlock()
				took := time.Since(sent)
				switch {
				case err == nil && took <= 100*time.Millisecond:
					inTime++
				case err == nil:
					late++
				default:
					refused++
					if took > 5*time.Millisecond {
						slowly++
					}
				}
			})
		}
		group.Wait()
		t.Logf("%d in time of %.0f that the device can do, %d late, %d refused, %d of them after more than 5 ms", inTime, capacity*long.Seconds(), late, refused, slowly)
		if float64(inTime) < .95*capacity*long.Seconds() || late > 0 || slowly*100 > refused {
			t.Errorf("%d in time of %.0f, %d late, %d of %d refused slowly", inTime, capacity*long.Seconds(), late, slowly, refused)
		}
	})
}

// Waiting for others ends when a request would be late for it.
func TestDeadlineCutsABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(accelerator).model(), adaptive(50*time.Millisecond))
		seed(b, accelerator)
		train(t, b, 8)
		one := b.sendAny(within(t, 9*time.Millisecond), request(1, 1, 1))
		if got := <-one; got.err != nil {
			t.Error(got.err)
		}
		if got := b.counter(t, "triptych_batch_cut_total", "deadline"); got != 1 {
			t.Errorf("%v cut by deadline", got)
		}
	})
}

// One slow batch must not refuse everybody for ever: when nothing has run for a
// second, one request runs whatever its deadline, and the cost is known again.
func TestAWrongCostIsForgotten(t *testing.T) {
	for name, instances := range map[string]int{"one instance": 1, "two instances": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, device(accelerator).model(), adaptive(10*time.Millisecond), func(c *batcher.Config) { c.Instances = instances })
				for rows := 1; rows <= b.limit; rows *= 2 {
					b.Learn(rows, 400*time.Millisecond) // such as a device that was cold
				}
				answers, refused := 0, 0
				for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
					got := <-b.sendAny(within(t, 100*time.Millisecond), request(1, 1, 1))
					switch {
					case got.err == nil:
						answers++
					case got.took > 0:
						t.Errorf("refused after %s: %v", got.took, got.err)
					default:
						refused++
					}
				}
				if answers < refused {
					t.Errorf("%d answered, %d refused", answers, refused)
				}
			})
		})
	}
}

// A device that is too slow is tried once a second, not more.
func TestAHopelessDeviceIsTriedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := device(func(int) time.Duration { return 200 * time.Millisecond })
		b := start(t, slow.model(), adaptive(0))
		seed(b, slow)
		for range 500 {
			got := <-b.sendAny(within(t, 20*time.Millisecond), request(1, 1, 1))
			wantKind(t, got.err, failure.Deadline)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := len(b.model.sizes()); n < 2 || n > 6 {
			t.Errorf("%d batches ran", n)
		}
	})
}
