package worker_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// linked tells whether the only link is to a span; none to one that is not valid.
func linked(links []sdktrace.Link, to trace.SpanContext) bool {
	if !to.IsValid() {
		return len(links) == 0
	}
	return len(links) == 1 && links[0].SpanContext.SpanID() == to.SpanID()
}

// One trace shows the whole item: every run of every step is below its root, and
// linked to the span that published the task, unless that is the root.
func TestTrace(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	tel := telemetry.Discard()
	tel.Tracer, tel.TracerProvider = provider.Tracer("test"), provider
	run, _ := failing(1, failure.Internal)
	var seen call.Info
	m := newModels(map[string]infer{"a": func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		seen = call.Of(ctx)
		_, span := tel.Tracer.Start(ctx, "run")
		defer span.End()
		return sum(ctx, req)
	}, "b": run})
	store := natstest.Store(t, natstest.Server(t))
	open(t, settings(), store, m, tel)
	ctx, root := tel.Tracer.Start(call.With(t.Context(), call.Info{RequestID: "request-1", Priority: 1}), "job item")
	if err := store.Begin(ctx, item(t, store, chain(t, "a", "b"), "j", 0, 10)); err != nil {
		t.Fatal(err)
	}
	root.End()
	v := gives(t, store, "j", 0, 12)
	if v.GetTraceId() != root.SpanContext().TraceID().String() || v.GetRequestId() != "request-1" {
		t.Errorf("the verdict has trace %q and request %q", v.GetTraceId(), v.GetRequestId())
	}
	if seen != (call.Info{RequestID: "request-1", Bulk: true}) {
		t.Errorf("the model sees %+v", seen)
	}
	var spans map[string][]sdktrace.ReadOnlySpan
	testkit.Eventually(t, 5*time.Second, "all spans have ended", func() bool {
		spans = map[string][]sdktrace.ReadOnlySpan{}
		for _, s := range recorder.Ended() {
			spans[s.Name()] = append(spans[s.Name()], s)
		}
		return len(spans["process a"]) == 1 && len(spans["process b"]) == 2
	})
	a := spans["process a"][0]
	for _, c := range []struct {
		span     sdktrace.ReadOnlySpan
		from     trace.SpanContext
		delivery int64
	}{{a, trace.SpanContext{}, 1}, {spans["process b"][0], a.SpanContext(), 1}, {spans["process b"][1], a.SpanContext(), 2}} {
		links := c.span.Links()
		if c.span.Parent().SpanID() != root.SpanContext().SpanID() || !linked(links, c.from) {
			t.Errorf("%s is below %s, linked to %v", c.span.Name(), c.span.Parent().SpanID(), links)
		}
		attributes := attribute.NewSet(c.span.Attributes()...)
		delivery, _ := attributes.Value("triptych.delivery")
		system, _ := attributes.Value("messaging.system")
		if c.span.SpanKind() != trace.SpanKindConsumer || delivery.AsInt64() != c.delivery || system.AsString() != "nats" {
			t.Errorf("%s: kind %s, %v", c.span.Name(), c.span.SpanKind(), c.span.Attributes())
		}
	}
	if inner := spans["run"][0]; inner.Parent().SpanID() != a.SpanContext().SpanID() {
		t.Error("the model's own span is not below the run")
	}
}
