package batcher_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/oip"
)

// device takes its time for a batch of so many rows.
type device func(rows int) time.Duration

// accelerator is the stand-in that Triton is compared with: a batch of 16 takes
// 1.4 times as long as one row.
func accelerator(rows int) time.Duration {
	return 5*time.Millisecond + time.Duration(rows)*150*time.Microsecond
}

// processor takes as long for a row in a batch as for one alone.
func processor(rows int) time.Duration { return time.Duration(rows) * 8 * time.Millisecond }

func (d device) model() *fakeModel {
	return &fakeModel{run: func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
		time.Sleep(d(int(in[0].Shape[0])))
		return []oip.Tensor{{Name: "y", Datatype: "UINT32", Shape: in[0].Shape, Data: make([]byte, len(in[0].Data))}}, nil
	}}
}

func adaptive(d time.Duration) option {
	return func(c *batcher.Config) { c.Policy, c.Delay, c.MaxBatchSize = batcher.Adaptive, d, 16 }
}

func tritons(d time.Duration) option {
	return func(c *batcher.Config) { c.Policy, c.Delay, c.MaxBatchSize = batcher.Triton, d, 16 }
}

// load is what a load has measured.
type load struct {
	rate  float64 // answers a second
	times []time.Duration
	rows  float64 // of a batch, on average
}

func (l load) quantile(q float64) time.Duration {
	slices.Sort(l.times)
	return l.times[min(int(q*float64(len(l.times))), len(l.times)-1)]
}

// habit is what callers do between an answer and their next request: before it
// counts as sent, and while it does. It is made anew for each load.
type habit func() (before, sending func(random *rand.Rand))

// away is to come back 0.3 to 1.2 ms later, as over a network and two busy cores.
func away() (before, sending func(*rand.Rand)) {
	return func(random *rand.Rand) {
		time.Sleep(300*time.Microsecond + time.Duration(random.Int64N(int64(900*time.Microsecond))))
	}, func(*rand.Rand) {}
}

// sharing is to need a processor for so long, one caller after the other.
func sharing(each time.Duration) habit {
	return func() (before, sending func(*rand.Rand)) {
		processor := make(chan struct{}, 1)
		return func(*rand.Rand) {}, func(random *rand.Rand) {
			processor <- struct{}{}
			time.Sleep(time.Duration(float64(each) * (0.5 + random.Float64())))
			<-processor
		}
	}
}

// closed is callers who each send the next request after the answer to the last.
func closed(t *testing.T, d device, callers int, h habit, options ...option) (got load) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, d.model(), options...)
		seed(b, d)
		before, sending := h()
		const warm, long = 500 * time.Millisecond, 2 * time.Second
		var mu sync.Mutex
		var group sync.WaitGroup
		begin := time.Now()
		for n := range callers {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			group.Go(func() {
				for time.Since(begin) < warm+long {
					before(random)
					sent := time.Now()
					sending(random)
					if _, _, err := b.Do(t.Context(), request(1, 1, 1)); err != nil {
						t.Error(err)
					}
					if sent.Sub(begin) > warm {
						mu.Lock()
						got.times = append(got.times, time.Since(sent))
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()
		got.rate = float64(len(got.times)) / long.Seconds()
		got.rows = float64(b.model.rows()) / float64(len(b.model.sizes()))
	})
	return got
}

// open is callers who come at random times, so many a second, whoever waits.
func open(t *testing.T, d device, rate float64, options ...option) (got load) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, d.model(), options...)
		seed(b, d)
		const requests, warm = 3000, 300
		random := rand.New(rand.NewPCG(7, 7))
		var mu sync.Mutex
		var group sync.WaitGroup
		for n := range requests {
			time.Sleep(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
			group.Go(func() {
				sent := time.Now()
				if _, _, err := b.Do(t.Context(), request(1, 1, 1)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if n >= warm {
					got.times = append(got.times, time.Since(sent))
				}
			})
		}
		group.Wait()
		got.rows = float64(b.model.rows()) / float64(len(b.model.sizes()))
	})
	return got
}

// seed is what the warm-up measures.
func seed(b *bench, d device) {
	for rows := 1; rows <= b.limit; rows *= 2 {
		b.Learn(rows, d(rows))
	}
}

// One setting of ours against the best of Triton's, whichever that is for so
// many callers: the accelerator is kept as full, and nobody waits for nothing.
func TestAdaptiveFillsTheAccelerator(t *testing.T) {
	delays := []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}
	for _, c := range []struct {
		callers   int
		rate, p99 float64 // against the best
	}{{1, 1, 1}, {2, 1.2, .9}, {4, 1.15, .9}, {16, .98, 1.02}, {64, .98, 1.02}} {
		ours := closed(t, accelerator, c.callers, away, adaptive(10*time.Millisecond))
		best := load{}
		fastest := time.Hour
		for _, d := range delays {
			theirs := closed(t, accelerator, c.callers, away, tritons(d))
			best.rate = max(best.rate, theirs.rate)
			fastest = min(fastest, theirs.quantile(.99))
		}
		t.Logf("%d callers: %.0f/s in batches of %.1f, p99 %s; the best of Triton's rules %.0f/s, p99 %s",
			c.callers, ours.rate, ours.rows, ours.quantile(.99), best.rate, fastest)
		if ours.rate < c.rate*best.rate {
			t.Errorf("%d callers: %.0f/s, want %.2f times %.0f/s", c.callers, ours.rate, c.rate, best.rate)
		}
		if float64(ours.quantile(.99)) > c.p99*float64(fastest) {
			t.Errorf("%d callers: p99 %s, want %.2f times %s", c.callers, ours.quantile(.99), c.p99, fastest)
		}
	}
}

// Callers who take their time on a processor that they share, as clients on the
// same machine do: it depends on how much whether it is better that all share a
// batch or that they take turns in two halves. Whichever of Triton's delays is the
// best for it, one setting of ours is as good.
func TestAdaptiveBesideSlowCallers(t *testing.T) {
	for _, each := range []time.Duration{200 * time.Microsecond, 450 * time.Microsecond} {
		for _, callers := range []int{2, 4, 8, 16, 24, 32} {
			ours := closed(t, accelerator, callers, sharing(each), adaptive(10*time.Millisecond))
			best := 0.0
			for _, d := range []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond} {
				best = max(best, closed(t, accelerator, callers, sharing(each), tritons(d)).rate)
			}
			t.Logf("%d callers, %s each: %.0f/s in batches of %.1f, p99 %s; the best of Triton's rules %.0f/s", callers, each, ours.rate, ours.rows, ours.quantile(.99), best)
			if ours.rate < .97*best {
				t.Errorf("%d callers, %s each: %.0f/s, want %.0f/s", callers, each, ours.rate, best)
			}
		}
	}
}

// Callers at random times, from nearly none to most of what the device can do.
func TestAdaptiveWaitsForNobodyWhoDoesNotCome(t *testing.T) {
	const capacity = 1500
	for _, c := range []struct{ share, p50, p99 float64 }{{.05, .5, 1}, {.2, .75, 1}, {.5, 1, 1}, {.8, 1, 1}} {
		ours := open(t, accelerator, c.share*capacity, adaptive(10*time.Millisecond))
		theirs := open(t, accelerator, c.share*capacity, tritons(10*time.Millisecond))
		never := open(t, accelerator, c.share*capacity, tritons(0))
		t.Logf("at %.0f%%: p50 %s, p99 %s in batches of %.1f; Triton's rules with the same bound: %s, %s; with none: %s, %s", 100*c.share,
			ours.quantile(.5), ours.quantile(.99), ours.rows, theirs.quantile(.5), theirs.quantile(.99), never.quantile(.5), never.quantile(.99))
		if float64(ours.quantile(.5)) > c.p50*float64(theirs.quantile(.5)) || float64(ours.quantile(.99)) > c.p99*float64(theirs.quantile(.99)) {
			t.Errorf("at %.0f%% of the capacity: p50 %s, p99 %s, want %.2f and %.2f times %s, %s", 100*c.share,
				ours.quantile(.5), ours.quantile(.99), c.p50, c.p99, theirs.quantile(.5), theirs.quantile(.99))
		}
	}
}

// Where a row in a batch costs as much as alone, a large batch costs those in front
// their time and gives nothing: of a crowd two run together, and four to see what that
// costs.
func TestAdaptiveDoesNotBatchWhatDoesNotPay(t *testing.T) {
	two := func(c *batcher.Config) { c.Instances = 2 }
	ours := closed(t, processor, 16, away, adaptive(10*time.Millisecond), two)
	theirs := closed(t, processor, 16, away, tritons(0), two)
	t.Logf("%.0f/s, p99 %s in batches of %.1f; Triton's rules %.0f/s, p99 %s, %.1f", ours.rate, ours.quantile(.99), ours.rows, theirs.rate, theirs.quantile(.99), theirs.rows)
	if ours.rows < 1.9 || ours.rows > 2 || ours.rate < .99*theirs.rate || ours.quantile(.99) > theirs.quantile(.99) {
		t.Errorf("batches of %.2f, %.0f/s, p99 %s; want 2, %.0f/s, %s", ours.rows, ours.rate, ours.quantile(.99), theirs.rate, theirs.quantile(.99))
	}
}

// That a row alone takes as long as in a batch is found out though the device was
// cold when a row ran alone, and has been busy ever since.
func TestAdaptiveForgetsAColdStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(processor).model(), adaptive(10*time.Millisecond))
		b.Learn(1, 2*processor(1))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for range 16 {
			go func() {
				for ctx.Err() == nil {
					_, _, _ = b.Do(ctx, request(1, 1, 1))
				}
			}()
		}
		time.Sleep(20 * time.Minute)
		stop()
		sizes := b.model.sizes()
		large := 0
		for _, rows := range sizes[len(sizes)-1000:] {
			if rows > 2 {
				large++
			}
		}
		if large > 2 { // one in 512 sees what it costs
			t.Fatalf("batches of %v in the end", sizes[len(sizes)-1000:])
		}
	})
}

// train lets so many callers come again and again, a millisecond after each
// batch, until the batcher knows that they do.
func train(t *testing.T, b *bench, callers int) {
	t.Helper()
	for range 20 {
		var all []<-chan outcome
		for n := range uint32(callers) {
			all = append(all, b.sendAny(t.Context(), request(n, 1, 1)))
			time.Sleep(time.Millisecond)
		}
		for _, r := range all {
			<-r
		}
	}
}

// What is worth waiting for is waited for until the delay, at most.
func TestDelayIsTheBound(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "idle", time.Millisecond: "delay", 50 * time.Millisecond: "idle"} {
		t.Run(d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := device(func(rows int) time.Duration { return 50*time.Millisecond + time.Duration(rows)*time.Millisecond })
				b := start(t, slow.model(), adaptive(d))
				seed(b, slow)
				train(t, b, 8)
				before := b.counter(t, "triptych_batch_cut_total", want)
				got := <-b.sendAny(t.Context(), request(1, 1, 1))
				if got.took < slow(1) || got.took > slow(1)+d {
					t.Errorf("took %s", got.took)
				}
				if after := b.counter(t, "triptych_batch_cut_total", want); after != before+1 {
					t.Errorf("not cut by %s", want)
				}
			})
		})
	}
}

// After a pause nobody is waited for who came before it.
func TestNobodyIsWaitedForAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(accelerator).model(), adaptive(50*time.Millisecond))
		seed(b, accelerator)
		train(t, b, 8)
		time.Sleep(15 * time.Second)
		if got := <-b.sendAny(t.Context(), request(1, 1, 1)); got.took != accelerator(1) {
			t.Errorf("took %s", got.took)
		}
	})
}

// An idle instance beside the one that is asked makes waiting worthless.
func TestNobodyWaitsBesideAnIdleInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(accelerator).model(), adaptive(50*time.Millisecond), func(c *batcher.Config) { c.Instances = 2 })
		seed(b, accelerator)
		train(t, b, 8)
		if got := <-b.sendAny(t.Context(), request(1, 1, 1)); got.took != accelerator(1) {
			t.Errorf("took %s", got.took)
		}
	})
}

// Requests of another shape end the waiting: the instance has something to do.
func TestAnotherShapeEndsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(accelerator).model(), adaptive(50*time.Millisecond))
		seed(b, accelerator)
		train(t, b, 8)
		one := b.sendAny(t.Context(), request(1, 1, 1))
		time.Sleep(100 * time.Microsecond)
		other := b.sendAny(t.Context(), request(2, 1, 7))
		if got := <-one; got.took != 100*time.Microsecond+accelerator(1) {
			t.Errorf("took %s", got.took)
		}
		<-other
		if got := b.counter(t, "triptych_batch_cut_total", "shape"); got != 1 {
			t.Errorf("%v cut by shape", got)
		}
	})
}

// Where only preferred sizes are worth it, they are what is waited for.
func TestAdaptivePreferredSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(accelerator).model(), adaptive(50*time.Millisecond), func(c *batcher.Config) { c.Preferred = []int{4} })
		seed(b, accelerator)
		block := b.sendAny(t.Context(), request(9, 16, 1))
		synctest.Wait()
		var all []<-chan outcome
		for n := range uint32(6) {
			all = append(all, b.sendAny(t.Context(), request(n, 1, 1)))
			synctest.Wait()
		}
		<-block
		for _, r := range all {
			<-r
		}
		if got, want := b.model.sizes(), []int{16, 4, 2}; !slices.Equal(got, want) {
			t.Errorf("batches of %v, want %v", got, want)
		}
	})
}

// Callers choose shapes; what is remembered of them is bounded.
func TestShapesAreForgotten(t *testing.T) {
	b := start(t, &fakeModel{}, adaptive(0))
	for width := range 1000 {
		if got := <-b.send(t.Context(), t, request(1, 1, width+1)); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if n := batcher.Lanes(b.Batcher); n > 65 {
		t.Errorf("%d kinds of requests are remembered", n)
	}
}
