package batcher_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// A retry that hangs ends with its caller, whoever else has an answer or waits for
// one.
func TestRetryEndsWithItsCaller(t *testing.T) {
	for name, first := range map[string]bool{"the other's turn comes after it": true, "the other is answered before": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{}, delay(time.Millisecond))
				b.model.run = func(ctx context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
					switch {
					case in[0].Shape[0] > 1:
						return nil, failure.New(failure.Internal, "not together")
					case binary.LittleEndian.Uint32(in[0].Data) == 13:
						<-ctx.Done()
						return nil, failure.OfContext(ctx)
					}
					time.Sleep(10 * time.Millisecond)
					return plusOne(in[0]), nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var one, hangs <-chan outcome
				sendOne := func() { one = b.send(t.Context(), t, request(1, 1, 4)); synctest.Wait() }
				sendHanging := func() { hangs = b.send(ctx, t, request(13, 1, 4)); synctest.Wait() }
				if first {
					sendHanging()
					sendOne()
				} else {
					sendOne()
					sendHanging()
				}
				time.Sleep(50 * time.Millisecond)
				cancel()
				if got := <-one; got.err != nil {
					t.Error(got.err)
				}
				wantKind(t, (<-hangs).err, failure.Cancelled)
				if got := <-b.send(t.Context(), t, request(3, 1, 4)); got.err != nil {
					t.Errorf("after it: %v", got.err)
				}
			})
		})
	}
}

// The halves of a batch that ran out of memory end when all who wait for them have
// gone, though others have had their answers.
func TestHalfEndsWithItsCallers(t *testing.T) {
	for name, after := range map[string]time.Duration{"they go while it runs": 50 * time.Millisecond, "they go before its turn": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{}, delay(time.Millisecond))
				b.model.run = func(ctx context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
					switch {
					case in[0].Shape[0] > 2:
						return nil, fmt.Errorf("four: %w", batcher.ErrOutOfMemory)
					case binary.LittleEndian.Uint32(in[0].Data) == 13:
						<-ctx.Done()
						return nil, failure.OfContext(ctx)
					}
					time.Sleep(10 * time.Millisecond)
					return plusOne(in[0]), nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				for _, got := range sendInTurn(t, b, []context.Context{t.Context(), t.Context(), ctx, ctx}, []uint32{1, 1, 13, 13}) {
					if got.err != nil && failure.KindOf(got.err) != failure.Deadline {
						t.Error(got.err)
					}
				}
			})
		})
	}
}

// sendInTurn sends requests one after the other, at one time, and waits for all.
func sendInTurn(t *testing.T, b *bench, ctx []context.Context, numbers []uint32) (got []outcome) {
	t.Helper()
	var sent []<-chan outcome
	for i, n := range numbers {
		sent = append(sent, b.send(ctx[i], t, request(n, 1, 4)))
		synctest.Wait()
	}
	for _, s := range sent {
		got = append(got, <-s)
	}
	return got
}

// Many members that run once more are no batch that hangs.
func TestRetriesAreNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &fakeModel{}, delay(time.Millisecond))
		b.model.run = func(_ context.Context, in []oip.Tensor) ([]oip.Tensor, error) {
			if in[0].Shape[0] > 1 {
				return nil, failure.New(failure.Internal, "not together")
			}
			time.Sleep(50 * time.Second)
			return plusOne(in[0]), nil
		}
		go func() {
			time.Sleep(140 * time.Second)
			if err := b.metrics.Stalled(2 * time.Minute); err != nil {
				t.Error(err)
			}
			if err := b.metrics.Stalled(30 * time.Second); err == nil {
				t.Error("the third has been running for 40 s")
			}
		}()
		ctx := t.Context()
		for _, got := range sendInTurn(t, b, []context.Context{ctx, ctx, ctx}, []uint32{1, 2, 3}) {
			if got.err != nil {
				t.Error(got.err)
			}
		}
	})
}
