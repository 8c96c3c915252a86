package jobs

import (
	"context"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/stream"
)

// PublisherHeader is the W3C trace context of the span that published a task;
// traceparent is that of its item's root.
const PublisherHeader = "triptych-publisher"

const traceparent = "traceparent"

// headers are those of a task's message. The span of ctx published it, and is the
// item's root when nobody else is known to be.
func (t *Task) headers(ctx context.Context) nats.Header {
	h := nats.Header{}
	root := ctx
	if t.Root.IsValid() {
		root = trace.ContextWithRemoteSpanContext(ctx, t.Root)
	}
	stream.Inject(root, h, t.Deadline)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if parent := carrier[traceparent]; parent != "" {
		h[PublisherHeader] = []string{parent}
	}
	return h
}

// publisher is the span that published a task.
func publisher(h nats.Header) trace.SpanContext {
	carrier := propagation.MapCarrier{traceparent: stream.HeaderValue(h, PublisherHeader)}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
