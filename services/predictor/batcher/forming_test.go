package batcher_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
)

// An idle instance starts the first request at once; batches form while it is
// busy. Without a delay nobody waits for company.
func TestIdleStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 10 * time.Millisecond})
		first := b.send(t.Context(), t, request(1, 1, 4))
		synctest.Wait()
		var rest []<-chan outcome
		for n := range uint32(11) {
			rest = append(rest, b.send(t.Context(), t, request(10+n, 1, 4)))
		}
		if got := <-first; got.took != 10*time.Millisecond {
			t.Errorf("alone: %s, want the model's 10ms", got.took)
		}
		for _, r := range rest {
			<-r
		}
		if want := []int{1, 8, 3}; !slices.Equal(b.model.sizes(), want) {
			t.Errorf("batches of %v, want %v", b.model.sizes(), want)
		}
		for reason, want := range map[string]float64{"idle": 2, "full": 1, "delay": 0, "preferred": 0, "drain": 0} {
			if got := b.counter(t, "triptych_batch_cut_total", "m", "1", reason); got != want {
				t.Errorf("%v batches cut by %s, want %v", got, reason, want)
			}
		}
		if got := b.counter(t, "triptych_batch_size", "m", "1"); got != 3 {
			t.Errorf("%v batches in the histogram, want 3", got)
		}
		if got := b.counter(t, "triptych_queue_age_seconds", "m", "1"); got != 12 {
			t.Errorf("the waiting of %v requests is in the histogram, want 12", got)
		}
	})
}

// BAT-08: with a delay the latency is at most the delay and the run.
func TestDelayIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const d, run = 100 * time.Millisecond, 10 * time.Millisecond
		b := start(t, &fakeModel{took: run}, delay(d))
		one := b.send(t.Context(), t, request(1, 1, 4))
		time.Sleep(60 * time.Millisecond)
		two := b.send(t.Context(), t, request(2, 1, 4))
		if got := <-one; got.took != d+run {
			t.Errorf("the first took %s, want %s", got.took, d+run)
		}
		if got := <-two; got.took != 50*time.Millisecond {
			t.Errorf("the second took %s, want to leave with the first", got.took)
		}
		if want := []int{2}; !slices.Equal(b.model.sizes(), want) {
			t.Errorf("batches of %v, want %v", b.model.sizes(), want)
		}
		if got := b.counter(t, "triptych_batch_cut_total", "delay"); got != 1 {
			t.Errorf("%v cut by delay", got)
		}
	})
}

func TestFullDoesNotWaitForTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{}, delay(time.Hour))
		var all []<-chan outcome
		for n := range uint32(8) {
			all = append(all, b.send(t.Context(), t, request(n, 1, 4)))
		}
		for _, r := range all {
			if got := <-r; got.took != 0 {
				t.Errorf("took %s", got.took)
			}
		}
		if got := b.counter(t, "triptych_batch_cut_total", "full"); got != 1 {
			t.Errorf("%v cut because full", got)
		}
	})
}

// While the instance is busy a delay costs nothing: what waits has waited.
func TestDelayCountsWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 50 * time.Millisecond}, delay(20*time.Millisecond))
		a := b.send(t.Context(), t, request(1, 8, 4)) // full: starts at once
		synctest.Wait()
		late := b.send(t.Context(), t, request(2, 1, 4))
		<-a
		if got := <-late; got.took != 100*time.Millisecond {
			t.Errorf("took %s, want 50ms of waiting and 50ms of running", got.took)
		}
	})
}

func TestPreferredSizes(t *testing.T) {
	preferred := func(sizes ...int) option { return func(c *batcher.Config) { c.Preferred = sizes } }
	wide := func(c *batcher.Config) { c.MaxBatchSize = 64 }
	cases := map[string]struct {
		options []option
		rows    []int // of the requests that come together
		want    []int
		reason  string
	}{
		"a preferred size goes at once":         {[]option{preferred(4), delay(time.Second)}, []int{1, 1, 1, 1}, []int{4}, "preferred"},
		"the largest that is reached":           {[]option{preferred(2, 4, 6), delay(time.Second), wide}, []int{1, 3, 1}, []int{4, 1}, "preferred"},
		"no request is split for it":            {[]option{preferred(4), delay(time.Second)}, []int{3, 2}, []int{5}, "delay"},
		"not reached: the delay":                {[]option{preferred(6), delay(time.Second)}, []int{1, 1, 1}, []int{3}, "delay"},
		"without a delay they are of no matter": {[]option{preferred(4)}, []int{1, 1, 1, 1, 1}, []int{5}, "idle"},
		"full goes before preferred":            {[]option{preferred(4), delay(time.Second)}, []int{4, 4, 4}, []int{8, 4}, "full"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{took: time.Millisecond}, c.options...)
				// All requests of a case come while the instance is busy, and
				// are still within their delay when it is free.
				block := b.send(t.Context(), t, request(99, b.limit, 3))
				synctest.Wait()
				var all []<-chan outcome
				for i, rows := range c.rows {
					all = append(all, b.send(t.Context(), t, request(uint32(i), rows, 4)))
					synctest.Wait()
				}
				<-block
				for _, r := range all {
					if got := <-r; got.err != nil {
						t.Error(got.err)
					}
				}
				if got := b.model.sizes()[1:]; !slices.Equal(got, c.want) {
					t.Errorf("batches of %v, want %v", got, c.want)
				}
				if got := b.counter(t, "triptych_batch_cut_total", c.reason); got == 0 {
					t.Errorf("none cut by %s", c.reason)
				}
			})
		})
	}
}

// BAT-08: under a backlog every batch has the most rows.
func TestBacklogMakesFullBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Millisecond}, delay(100*time.Millisecond), func(c *batcher.Config) {
			c.MaxBatchSize, c.Preferred = 64, []int{8, 32, 64}
		})
		block := b.send(t.Context(), t, request(1, 64, 1))
		synctest.Wait()
		var all []<-chan outcome
		for n := range uint32(256) {
			all = append(all, b.send(t.Context(), t, request(n, 1, 4)))
		}
		<-block
		for _, r := range all {
			<-r
		}
		if got, want := b.model.sizes()[1:], []int{64, 64, 64, 64}; !slices.Equal(got, want) {
			t.Errorf("batches of %v, want %v", got, want)
		}
	})
}

// A request is never split and never overtaken in its lane.
func TestRequestsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Millisecond})
		block := b.send(t.Context(), t, request(100, 1, 4))
		synctest.Wait()
		var all []<-chan outcome
		for i, rows := range []int{5, 4, 3, 8, 1} {
			all = append(all, b.send(t.Context(), t, request(uint32(i), rows, 4)))
			synctest.Wait()
		}
		<-block
		for _, r := range all {
			<-r
		}
		if got, want := b.model.sizes()[1:], []int{5, 7, 8, 1}; !slices.Equal(got, want) {
			t.Errorf("batches of %v, want %v", got, want)
		}
	})
}

// BAT-07: shapes, datatypes and sets of inputs that differ never meet, and the
// lane with the oldest request goes first, so that a rare shape does not starve.
func TestDifferentShapesNeverMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Millisecond}, delay(5*time.Millisecond))
		block := b.send(t.Context(), t, request(100, 8, 4))
		synctest.Wait()
		var all []<-chan outcome
		for n := range uint32(12) {
			width := []int{4, 4, 7}[n%3]
			req := request(n, 1, width)
			if n%4 == 3 {
				req.Inputs[0].Datatype = "INT32"
			}
			all = append(all, b.send(t.Context(), t, req))
			synctest.Wait()
		}
		<-block
		for _, r := range all {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
		want := [][]uint32{{0, 1, 4, 6, 9, 10}, {2, 5, 8}, {3, 7}, {11}}
		if got := b.model.batches[1:]; !equalBatches(got, want) {
			t.Errorf("batches %v, want %v", got, want)
		}
	})
}

func equalBatches(a, b [][]uint32) bool {
	return slices.EqualFunc(a, b, func(x, y []uint32) bool { return slices.Equal(x, y) })
}

func TestARareShapeDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 10 * time.Millisecond})
		ctx, stop := context.WithCancel(t.Context())
		var flood []<-chan outcome
		for n := range uint32(200) {
			flood = append(flood, b.send(ctx, t, request(n, 1, 4)))
		}
		synctest.Wait()
		rare := b.send(t.Context(), t, request(1000, 1, 9))
		synctest.Wait()
		for n := range uint32(200) {
			flood = append(flood, b.send(ctx, t, request(n, 1, 4)))
		}
		// 200 rows are before it: 1 batch that runs, and 199 rows in 25 more.
		if got := <-rare; got.took > 280*time.Millisecond {
			t.Errorf("the rare shape waited %s behind requests that came later", got.took)
		}
		stop()
		for _, f := range flood {
			<-f
		}
	})
}

func TestWithoutDynamicBatchingEachRunsAlone(t *testing.T) {
	for name, o := range map[string]option{
		"no scheduler":       func(c *batcher.Config) { c.Dynamic, c.Delay = false, time.Hour },
		"no batch dimension": func(c *batcher.Config) { c.Dynamic, c.MaxBatchSize = false, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{took: time.Millisecond}, o, func(c *batcher.Config) { c.Instances = 2 })
				var all []<-chan outcome
				for n := range uint32(6) {
					all = append(all, b.send(t.Context(), t, request(n, 2, 4)))
				}
				for _, r := range all {
					if got := <-r; got.err != nil {
						t.Error(got.err)
					}
				}
				if want := []int{2, 2, 2, 2, 2, 2}; !slices.Equal(b.model.sizes(), want) {
					t.Errorf("batches of %v, want %v", b.model.sizes(), want)
				}
				if b.model.most != 2 {
					t.Errorf("%d ran at once, want the 2 instances", b.model.most)
				}
			})
		})
	}
}
