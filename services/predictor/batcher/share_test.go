package batcher_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/call"
	"triptych/shared/failure"
)

// bulk is the context of a job's work.
func bulk(t *testing.T) context.Context {
	t.Helper()
	return call.With(t.Context(), call.Info{Bulk: true, Priority: 1})
}

// behind sends requests while the instance is busy: the numbers below 100 are of
// callers, the others of jobs. It gives the batches after the first.
func behind(t *testing.T, b *bench, numbers ...uint32) [][]uint32 {
	t.Helper()
	all := []<-chan outcome{b.sendAny(t.Context(), request(1000, 1, 4))}
	synctest.Wait()
	for _, n := range numbers {
		ctx := t.Context()
		if n >= 100 {
			ctx = bulk(t)
		}
		all = append(all, b.sendAny(ctx, request(n, 1, 4)))
		synctest.Wait()
	}
	for _, r := range all {
		if got := <-r; got.err != nil {
			t.Error(got.err)
		}
	}
	return b.model.batches[1:]
}

// Both roads fill one batch, those for whom somebody waits first.
func TestBothRoadsFillOneBatch(t *testing.T) {
	for name, c := range map[string]struct {
		device device
		want   [][]uint32
	}{
		"where a batch is cheap":   {accelerator, [][]uint32{{1, 2, 100, 101, 102, 103}}},
		"where it is not, in turn": {processor, [][]uint32{{1}, {2}, {100}, {101}, {102}, {103}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, c.device.model(), adaptive(0))
				seed(b, c.device)
				if got := behind(t, b, 100, 101, 1, 102, 2, 103); !equalBatches(got, c.want) {
					t.Errorf("batches %v, want %v", got, c.want)
				}
			})
		})
	}
}

// steep is a device on which a batch is cheaper than its rows alone, and yet long.
func steep(rows int) time.Duration {
	return 5*time.Millisecond + time.Duration(rows)*4*time.Millisecond
}

// While callers come, jobs make no long batches; when nobody does, they do.
func TestJobsKeepTheirBatchesShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, device(steep).model(), adaptive(0))
		seed(b, steep)
		numbers := []uint32{1}
		for n := range uint32(12) {
			numbers = append(numbers, 100+n)
		}
		behind(t, b, numbers...)
		if got, want := b.model.sizes(), []int{1, 2, 3, 3, 3, 2}; !slices.Equal(got, want) {
			t.Errorf("batches of %v, want %v", got, want)
		}
		if got := b.counter(t, "triptych_batch_cut_total", "share"); got != 4 {
			t.Errorf("%v cut for the share", got)
		}
		time.Sleep(2 * time.Second)
		var all []<-chan outcome
		for n := range uint32(17) {
			all = append(all, b.sendAny(bulk(t), request(n, 1, 4)))
			synctest.Wait()
		}
		for _, r := range all {
			<-r
		}
		if got, want := b.model.sizes()[6:], []int{1, 16}; !slices.Equal(got, want) {
			t.Errorf("batches of %v, want %v", got, want)
		}
	})
}

// A queue that callers have filled refuses no job, and jobs that wait take no place
// in it.
func TestQueueOfTwoRoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, func(c *batcher.Config) { c.MaxQueueSize, c.MaxBatchSize = 2, 1 })
		var all []<-chan outcome
		add := func(ctx context.Context, n uint32) {
			all = append(all, b.sendAny(ctx, request(n, 1, 4)))
			synctest.Wait()
		}
		add(t.Context(), 0) // runs
		for n := range uint32(5) {
			add(bulk(t), 100+n)
		}
		add(t.Context(), 1)
		add(t.Context(), 2)
		add(bulk(t), 200)
		if got := <-b.send(t.Context(), t, request(3, 1, 4)); failure.KindOf(got.err) != failure.Busy {
			t.Errorf("got %v", got.err)
		}
		for _, r := range all {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
	})
}

// Callers who keep the queue full leave jobs one of each few batches.
func TestJobsDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 10 * time.Millisecond}, func(c *batcher.Config) { c.MaxBatchSize = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		for n := range uint32(4) {
			go func() {
				for ctx.Err() == nil {
					<-b.sendAny(ctx, request(n, 1, 4))
				}
			}()
		}
		time.Sleep(100 * time.Millisecond)
		for n := range uint32(5) {
			if got := <-b.send(bulk(t), t, request(100+n, 1, 4)); got.err != nil || got.took > 100*time.Millisecond {
				t.Errorf("a job's request took %s, %v", got.took, got.err)
			}
		}
		cancel()
		synctest.Wait()
	})
}
