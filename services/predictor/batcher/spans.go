package batcher

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/telemetry"
)

// startQueue begins the span of the request's wait, if its trace is sampled.
func (it *item) startQueue(tracer trace.Tracer) {
	if it.sampled = trace.SpanContextFromContext(it.ctx).IsSampled(); it.sampled {
		_, it.queue = tracer.Start(it.ctx, "queue", trace.WithTimestamp(it.enqueued))
	}
}

// endQueue ends the span of the wait; err says why nothing came after it.
func (it *item) endQueue(err error, attributes ...attribute.KeyValue) {
	if !it.sampled {
		return
	}
	it.queue.SetAttributes(attributes...)
	telemetry.Fail(it.queue, err)
	it.queue.End()
}

// runSpans are the spans of one execution: one `run` in each sampled member's
// trace, and one `batch` in a trace of its own. They are linked both ways.
type runSpans []trace.Span

// startSpans ends the members' waits and begins their runs. The batch is a
// trace of its own, for it belongs to no member more than to another; it is
// made only when a member's trace is sampled.
func (b *Batcher) startSpans(work *batch) (context.Context, runSpans) {
	shared := []attribute.KeyValue{
		attribute.Int("triptych.batch.size", work.rows),
		attribute.String("triptych.batch.cut_reason", work.reason),
	}
	var runs runSpans
	var links []trace.Link
	for _, it := range work.members {
		if !it.sampled {
			continue
		}
		it.endQueue(nil, shared...)
		_, run := b.tracer.Start(it.ctx, "run", trace.WithTimestamp(work.begun), trace.WithAttributes(shared...))
		runs = append(runs, run)
		links = append(links, trace.Link{SpanContext: run.SpanContext()})
	}
	if runs == nil {
		return work.ctx, nil
	}
	ctx, span := b.tracer.Start(work.ctx, "batch", trace.WithNewRoot(), trace.WithTimestamp(work.begun), trace.WithLinks(links...),
		trace.WithAttributes(append(shared,
			attribute.Int("triptych.batch.requests", len(work.members)),
			attribute.String("triptych.model.name", b.cfg.Model),
			attribute.String("triptych.model.version", b.cfg.Version))...))
	for _, run := range runs {
		run.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, append(runs, span)
}

func (s runSpans) end(err error) {
	for _, span := range s {
		telemetry.Fail(span, err)
		span.End()
	}
}
