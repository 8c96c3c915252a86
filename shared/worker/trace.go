package worker

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/jobs"
	"triptych/shared/stream"
)

// start begins the span of a task's run, below the item's root and linked to the
// span that published the task, when that is another. Each delivery has its own.
func (p *puller) start(ctx context.Context, t *jobs.Task, d *delivery) (context.Context, trace.Span) {
	a, _ := stream.StepOf(d.msg.Subject)
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			semconv.MessagingSystemKey.String("nats"),
			semconv.MessagingOperationTypeProcess,
			semconv.MessagingOperationName("process"),
			semconv.MessagingDestinationName(stream.StepStream(p.model)),
			semconv.MessagingConsumerGroupName(stream.StepConsumer(a.Level)),
			attribute.String("triptych.model", p.model),
			attribute.String("triptych.job", t.GetJob()),
			attribute.Int64("triptych.item", int64(t.GetItem())),
			attribute.Int64("triptych.step", int64(t.GetStep())),
			attribute.Int64("triptych.attempt", int64(t.GetAttempt())),
			attribute.Int64("triptych.delivery", int64(d.earlier())+1),
			attribute.Int64("triptych.waited_us", d.waited().Microseconds()),
		),
	}
	// The parent is no link as well: some stores keep one of the two only.
	if t.From.IsValid() && t.From.SpanID() != t.Root.SpanID() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: t.From}))
	}
	return p.door.tel.Tracer.Start(ctx, "process "+p.model, options...)
}
