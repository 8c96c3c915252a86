package batcher_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// A batch that panics is the failure of its members alone: the instance lives
// on, and callers who have gone get their memory back.
func TestPanicIsTheBatchsOwn(t *testing.T) {
	tooMany := 1 << 60
	explode := func(context.Context, []oip.Tensor) ([]oip.Tensor, error) {
		return []oip.Tensor{{Data: make([]byte, tooMany)}}, nil
	}
	cases := map[string][]int{ // the rows of each member
		"alone":        {2},
		"three in one": {1, 2, 1},
	}
	for name, members := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{took: time.Second, run: explode}, delay(time.Millisecond))
				var all []<-chan outcome
				for n, rows := range members {
					all = append(all, b.send(t.Context(), t, request(uint32(n), rows, 4)))
					synctest.Wait()
				}
				for _, done := range all {
					got := <-done
					wantKind(t, got.err, failure.Internal)
					if want := `model "m" broke while it ran a batch`; failure.Message(got.err) != want {
						t.Errorf("message %q, want %q", failure.Message(got.err), want)
					}
					var panicked *failure.Panic
					if !errors.As(got.err, &panicked) || len(panicked.Stack) == 0 {
						t.Errorf("%v has no stack", got.err)
					}
				}
				b.model.run = nil
				if got := <-b.send(t.Context(), t, request(7, 1, 4)); got.err != nil {
					t.Errorf("after the panic: %v", got.err)
				}
			})
		})
	}
}

// Who leaves while a batch runs waits until it no longer reads, and no longer.
func TestPanicAfterTheCallerHasGone(t *testing.T) {
	for name, members := range map[string]int{"alone": 1, "with another": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, &fakeModel{}, delay(time.Millisecond))
				b.model.run = func(context.Context, []oip.Tensor) ([]oip.Tensor, error) {
					time.Sleep(time.Second)
					panic("late")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				leaver := b.send(ctx, t, request(1, 1, 4))
				var other <-chan outcome
				if members == 2 {
					other = b.send(t.Context(), t, request(2, 1, 4))
				}
				wantKind(t, (<-leaver).err, failure.Deadline)
				if other != nil {
					wantKind(t, (<-other).err, failure.Internal)
				}
				b.Close() // joins the instance, which lives
			})
		})
	}
}

// The spans of a batch that panicked end, and say so.
func TestPanicInSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	model := &fakeModel{run: func(context.Context, []oip.Tensor) ([]oip.Tensor, error) { panic("secret") }}
	b := startTraced(t, model, provider.Tracer(""))
	ctx, span := provider.Tracer("").Start(t.Context(), "call")
	_, _, err := b.Do(ctx, request(1, 1, 4))
	span.End()
	wantKind(t, err, failure.Internal)
	b.Close() // the batch's span may end after the answer
	for _, name := range []string{"run", "batch"} {
		i := slices.IndexFunc(recorder.Ended(), func(s sdktrace.ReadOnlySpan) bool { return s.Name() == name })
		if i < 0 {
			t.Fatalf("span %s has not ended", name)
		}
		if status := recorder.Ended()[i].Status(); status.Code != codes.Error || status.Description != failure.Message(err) {
			t.Errorf("span %s has status %+v", name, status)
		}
	}
}
