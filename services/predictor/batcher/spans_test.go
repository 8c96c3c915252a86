package batcher_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"triptych/services/predictor/batcher"
)

// tracing is a tracer whose spans the test can read.
func tracing(t *testing.T) (oteltrace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder), trace.WithSampler(trace.ParentBased(trace.AlwaysSample())))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return provider.Tracer("test"), recorder
}

// remote is the context of a request whose trace is, or is not, sampled.
func remote(ctx context.Context, n byte, sampled bool) context.Context {
	flags := oteltrace.TraceFlags(0).WithSampled(sampled)
	return oteltrace.ContextWithRemoteSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
		TraceID: oteltrace.TraceID{15: n}, SpanID: oteltrace.SpanID{7: n}, TraceFlags: flags, Remote: true,
	}))
}

func attributes(span trace.ReadOnlySpan) map[string]attribute.Value {
	found := map[string]attribute.Value{}
	for _, a := range span.Attributes() {
		found[string(a.Key)] = a.Value
	}
	return found
}

// OTL-04: in a batch of four, two of which are sampled, the two have their own
// queue and run in their own traces, and one batch span is linked with both,
// both ways.
func TestSpansOfABatch(t *testing.T) {
	tracer, recorder := tracing(t)
	synctest.Test(t, func(t *testing.T) {
		b := startTraced(t, &fakeModel{took: 2 * time.Millisecond}, tracer, delay(time.Millisecond))
		var all []<-chan outcome
		for n := range byte(4) {
			all = append(all, b.send(remote(t.Context(), n+1, n%2 == 0), t, request(uint32(n), 2, 4)))
		}
		for _, r := range all {
			<-r
		}
	})
	byName := map[string][]trace.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		byName[span.Name()] = append(byName[span.Name()], span)
	}
	if len(byName["queue"]) != 2 || len(byName["run"]) != 2 || len(byName["batch"]) != 1 {
		t.Fatalf("%d queue, %d run, %d batch spans, want 2, 2, 1", len(byName["queue"]), len(byName["run"]), len(byName["batch"]))
	}
	batch := byName["batch"][0]
	if batch.Parent().IsValid() || len(batch.Links()) != 2 {
		t.Errorf("the batch has parent %v and %d links", batch.Parent(), len(batch.Links()))
	}
	if got := attributes(batch); got["triptych.batch.requests"].AsInt64() != 4 || got["triptych.batch.size"].AsInt64() != 8 {
		t.Errorf("the batch has %v", got)
	}
	for i, run := range byName["run"] {
		if run.Parent().TraceID() != run.SpanContext().TraceID() || run.SpanContext().TraceID() == batch.SpanContext().TraceID() {
			t.Errorf("run %d is in trace %s", i, run.SpanContext().TraceID())
		}
		if len(run.Links()) != 1 || run.Links()[0].SpanContext.SpanID() != batch.SpanContext().SpanID() {
			t.Errorf("run %d is linked with %v", i, run.Links())
		}
		if got := attributes(run); got["triptych.batch.size"].AsInt64() != 8 || got["triptych.batch.cut_reason"].AsString() != "full" {
			t.Errorf("run %d has %v", i, got)
		}
		if took := run.EndTime().Sub(run.StartTime()); took != 2*time.Millisecond {
			t.Errorf("run %d took %s", i, took)
		}
	}
	linked := map[oteltrace.SpanID]bool{}
	for _, l := range batch.Links() {
		linked[l.SpanContext.SpanID()] = true
	}
	for i, run := range byName["run"] {
		if !linked[run.SpanContext().SpanID()] {
			t.Errorf("the batch has no link to run %d", i)
		}
	}
	for i, queue := range byName["queue"] {
		if got := attributes(queue); got["triptych.batch.cut_reason"].AsString() != "full" {
			t.Errorf("queue %d has %v", i, got)
		}
	}
}

func TestNoSpansWithoutASampledMember(t *testing.T) {
	tracer, recorder := tracing(t)
	synctest.Test(t, func(t *testing.T) {
		b := startTraced(t, &fakeModel{}, tracer)
		<-b.send(remote(t.Context(), 1, false), t, request(1, 1, 4))
		<-b.send(t.Context(), t, request(2, 1, 4))
	})
	if n := len(recorder.Started()); n != 0 {
		t.Errorf("%d spans, want none", n)
	}
}

// A request that never runs has a queue span that says why, and no run.
func TestSpanOfADroppedRequest(t *testing.T) {
	cases := map[string]struct {
		options  []option
		patience time.Duration
		want     string
	}{
		"gone":      {nil, 50 * time.Millisecond, "the deadline of the request has passed"},
		"timed out": {[]option{func(c *batcher.Config) { c.Timeout = 50 * time.Millisecond }}, time.Hour, `the request waited 50ms in the queue of model "m", as long as its queue policy allows`},
		"refused":   {[]option{func(c *batcher.Config) { c.MaxQueueSize = 1 }}, time.Hour, `the queue of model "m" is full: 1 requests wait`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tracer, recorder := tracing(t)
			synctest.Test(t, func(t *testing.T) {
				b := startTraced(t, &fakeModel{took: time.Second}, tracer, c.options...)
				running := b.send(t.Context(), t, request(1, 1, 4))
				synctest.Wait()
				var waiting <-chan outcome
				if name == "refused" {
					waiting = b.send(t.Context(), t, request(2, 1, 4))
					synctest.Wait()
				}
				ctx, cancel := context.WithTimeout(remote(t.Context(), 3, true), c.patience)
				defer cancel()
				<-b.send(ctx, t, request(3, 1, 4))
				<-running
				if waiting != nil {
					<-waiting
				}
			})
			spans := recorder.Ended()
			if len(spans) != 1 || spans[0].Name() != "queue" {
				t.Fatalf("%d spans, want the queue only", len(spans))
			}
			if got := spans[0].Status(); got.Code != codes.Error || got.Description != c.want {
				t.Errorf("status %q, want %q", got.Description, c.want)
			}
		})
	}
}
