package batcher_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/services/predictor/batcher"
	"triptych/shared/call"
	"triptych/shared/capacity"
)

// All requests of a batch run, and a batch of jobs alone is one.
func TestCapacityOfBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 10 * time.Millisecond}, func(c *batcher.Config) { c.Instances = 1 }, delay(time.Millisecond))
		bulky := call.With(t.Context(), call.Info{Bulk: true})
		for _, c := range []struct {
			callers, jobs, running int
		}{{3, 0, 3}, {1, 2, 1}, {0, 3, 1}} {
			var all sync.WaitGroup
			for n := range c.callers + c.jobs {
				ctx := t.Context()
				if n >= c.callers {
					ctx = bulky
				}
				all.Go(func() { _, _, _ = b.Do(ctx, request(1, 1, 1)) })
			}
			time.Sleep(5 * time.Millisecond)
			synctest.Wait()
			if diff := cmp.Diff(capacity.Report{Slots: 1, Running: c.running}, b.Capacity()); diff != "" {
				t.Errorf("%d callers, %d of jobs: %s", c.callers, c.jobs, diff)
			}
			all.Wait()
			synctest.Wait()
			if sizes := b.model.sizes(); sizes[len(sizes)-1] != c.callers+c.jobs {
				t.Errorf("%d callers, %d of jobs: batches of %v", c.callers, c.jobs, sizes)
			}
		}
	})
}

// TestCapacity fills a batcher of one instance and lets it run empty.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: 10 * time.Millisecond}, func(c *batcher.Config) { c.MaxBatchSize = 1 })
		want := func(what string, want capacity.Report) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, b.Capacity()); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
		}
		want("at rest", capacity.Report{Slots: 1})
		var callers sync.WaitGroup
		send := func(ctx context.Context) {
			callers.Go(func() { _, _, _ = b.Do(ctx, request(1, 1, 1)) })
			synctest.Wait()
		}
		send(t.Context())
		want("one runs", capacity.Report{Slots: 1, Running: 1})
		send(call.With(t.Context(), call.Info{Bulk: true}))
		want("a job's waits", capacity.Report{Slots: 1, Running: 1})
		time.Sleep(2 * time.Millisecond)
		send(t.Context())
		impatient, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
		defer cancel()
		send(impatient)
		time.Sleep(2 * time.Millisecond)
		want("two more wait", capacity.Report{Slots: 1, Running: 1, Waiting: 2})
		time.Sleep(2 * time.Millisecond)
		want("one of them has gone", capacity.Report{Slots: 1, Running: 1, Waiting: 1})
		send(t.Context())
		time.Sleep(5 * time.Millisecond)
		want("another was taken", capacity.Report{Slots: 1, Running: 1, Waiting: 1, Age: 4 * time.Millisecond})
		time.Sleep(10 * time.Millisecond)
		want("the job's is next in line", capacity.Report{Slots: 1, Running: 1})
		callers.Wait()
		want("at rest again", capacity.Report{Slots: 1})
	})
}
