package batcher_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// priority is a request with a level of its own.
func priority(number uint32, level int64) *inference.ModelInferRequest {
	req := request(number, 1, 4)
	req.Parameters = oip.Parameters{"priority": oip.Int64(level)}
	return req
}

func levels(count, by int) option {
	return func(c *batcher.Config) { c.Levels, c.DefaultLevel, c.MaxBatchSize = count, by, 1 }
}

// inTurn sends requests while the instance is busy and gives the order in which
// they ran.
func inTurn(t *testing.T, b *bench, requests ...*inference.ModelInferRequest) (order []uint32) {
	t.Helper()
	block := b.send(t.Context(), t, request(1000, 1, 4))
	synctest.Wait()
	all := []<-chan outcome{block}
	for _, req := range requests {
		all = append(all, b.send(t.Context(), t, req))
		synctest.Wait()
	}
	for _, r := range all {
		if got := <-r; got.err != nil {
			t.Error(got.err)
		}
	}
	for _, batch := range b.model.batches[1:] {
		order = append(order, batch...)
	}
	return order
}

func TestLevels(t *testing.T) {
	unsigned := request(5, 1, 4)
	unsigned.Parameters = oip.Parameters{"priority": {ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: 1}}}
	requests := func() []*inference.ModelInferRequest {
		return []*inference.ModelInferRequest{priority(1, 3), priority(2, 2), request(3, 1, 4), priority(4, 0), unsigned, priority(6, 9), priority(7, 1)}
	}
	cases := map[string]struct {
		options []option
		want    []uint32
	}{
		"the lower the more urgent; none, 0 and unknown are the default": {[]option{levels(3, 2)}, []uint32{5, 7, 2, 3, 4, 6, 1}},
		"one level: the order of arrival":                                {[]option{levels(0, 0)}, []uint32{1, 2, 3, 4, 5, 6, 7}},
		"the same by the adaptive policy": {[]option{levels(3, 2), func(c *batcher.Config) {
			c.Policy = batcher.Adaptive
		}}, []uint32{5, 7, 2, 3, 4, 6, 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{took: time.Millisecond}, c.options...)
				if got := inTurn(t, b, requests()...); !slices.Equal(got, c.want) {
					t.Errorf("ran %v, want %v", got, c.want)
				}
			})
		})
	}
}

// The priority of the hop counts where the request has none of its own.
func TestPriorityOfTheHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Millisecond}, levels(2, 2))
		block := b.send(t.Context(), t, request(1000, 1, 4))
		synctest.Wait()
		low := b.send(t.Context(), t, request(1, 1, 4))
		synctest.Wait()
		high := b.send(call.With(t.Context(), call.Info{Priority: 1}), t, request(2, 1, 4))
		<-block
		<-low
		<-high
		if want := [][]uint32{{1000}, {2}, {1}}; !equalBatches(b.model.batches, want) {
			t.Errorf("ran %v, want %v", b.model.batches, want)
		}
	})
}

func TestPriorityThatIsNoNumber(t *testing.T) {
	b := start(t, &fakeModel{})
	req := request(1, 1, 4)
	req.Parameters = oip.Parameters{"priority": oip.String("high")}
	_, _, err := b.Do(t.Context(), req)
	wantKind(t, err, failure.Invalid)
}

// No level starves: under a flood of urgent requests the first of each other
// level is in one of the next 8 batches, or one later for each level that has
// waited as long.
func TestNoLevelStarves(t *testing.T) {
	for _, policy := range []batcher.Policy{batcher.Adaptive, batcher.Triton} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{took: time.Millisecond}, levels(4, 1), func(c *batcher.Config) { c.Policy = policy })
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for n := range uint32(3) { // enough for level 1 to wait always
					go func() {
						for ctx.Err() == nil {
							_, _, _ = b.Do(ctx, request(n, 1, 4))
						}
					}()
				}
				time.Sleep(10 * time.Millisecond)
				before := len(b.model.sizes())
				var low []<-chan outcome
				for level := range int64(3) {
					for n := range uint32(3) {
						low = append(low, b.send(t.Context(), t, priority(100+10*uint32(level)+n, 2+level)))
						synctest.Wait()
					}
				}
				for _, r := range low {
					<-r
				}
				stop()
				synctest.Wait()
				turns := map[uint32][]int{} // of each level, in batches since they came
				for i, batch := range b.model.batches[before:] {
					if n := batch[0]; n >= 100 {
						turns[(n-100)/10] = append(turns[(n-100)/10], i+1)
					}
				}
				for level, at := range turns {
					last := 0
					for _, turn := range at {
						if turn-last > 8+3 {
							t.Errorf("level %d waited %d batches for a turn: %v", level+2, turn-last, at)
						}
						last = turn
					}
				}
				// The urgent ones are hardly held up: they have most batches.
				all := len(b.model.batches) - before
				if 9*2 < all/2 {
					t.Errorf("%d batches for 9 low requests", all)
				}
			})
		})
	}
}

// Inside a level the earliest deadline goes first. Who has none, or one that is
// far, waits at most 10 seconds behind those that have less time and keep coming.
func TestEarliestDeadlineFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, levels(1, 1), func(c *batcher.Config) { c.Policy = batcher.Adaptive })
		block := b.send(t.Context(), t, request(1000, 1, 4))
		synctest.Wait()
		all := []<-chan outcome{block}
		for n, patience := range []time.Duration{0, 9 * time.Second, 7 * time.Second, 8 * time.Second, 20 * time.Second, 2 * time.Minute} {
			ctx := t.Context()
			if patience > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, patience)
				defer cancel()
			}
			all = append(all, b.send(ctx, t, request(uint32(n), 1, 4)))
			synctest.Wait()
		}
		for _, r := range all {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
		if want := [][]uint32{{1000}, {2}, {3}, {1}, {0}, {4}, {5}}; !equalBatches(b.model.batches, want) {
			t.Errorf("ran %v, want %v", b.model.batches, want)
		}
	})
}

// A request with much time is not held up for as long as others with less keep the
// device busy.
func TestALongDeadlineDoesNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, levels(1, 1), func(c *batcher.Config) { c.Policy = batcher.Adaptive })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for n := range uint32(3) {
			go func() {
				for ctx.Err() == nil {
					limited, cancel := context.WithTimeout(ctx, 5*time.Second)
					_, _, _ = b.Do(limited, request(n, 1, 4))
					cancel()
				}
			}()
		}
		time.Sleep(10 * time.Second)
		long, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got := <-b.send(long, t, request(100, 1, 4)); got.err != nil || got.took > 15*time.Second {
			t.Errorf("%v after %s", got.err, got.took)
		}
		stop()
		synctest.Wait()
	})
}

// Each level has its own queue policy, or the default one.
func TestQueuePoliciesOfLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{took: time.Second}, levels(3, 3), func(c *batcher.Config) {
			c.Timeout = 500 * time.Millisecond
			c.Queues = map[int]batcher.QueuePolicy{
				1: {MaxQueueSize: 1},
				2: {MaxQueueSize: 10, Timeout: 100 * time.Millisecond, TimeoutDelays: true},
			}
		})
		block := b.send(t.Context(), t, request(1000, 1, 4))
		synctest.Wait()
		first := b.send(t.Context(), t, priority(1, 1))
		synctest.Wait()
		wantKind(t, (<-b.send(t.Context(), t, priority(2, 1))).err, failure.Busy)
		delayed := b.send(t.Context(), t, priority(3, 2))
		rejected := b.send(t.Context(), t, priority(5, 3))
		time.Sleep(950 * time.Millisecond)
		fresh := b.send(t.Context(), t, priority(4, 2))
		if got := <-rejected; got.took != 500*time.Millisecond {
			t.Errorf("rejected after %s", got.took)
		}
		for _, r := range []<-chan outcome{block, first, fresh, delayed} {
			if got := <-r; got.err != nil {
				t.Error(got.err)
			}
		}
	})
}
