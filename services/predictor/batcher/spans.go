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

// endRun ends the span of the request's run.
func (it *item) endRun(err error) {
	if it.run == nil {
		return
	}
	telemetry.Fail(it.run, err)
	it.run.End()
}

// startSpans ends the members' waits and begins their runs: one `run` in each
// sampled member's trace, and one `batch`, linked with them both ways. The batch
// is a trace of its own, for it belongs to no member more than to another; it is
// made only when a member's trace is sampled.
func (b *Batcher) startSpans(w *work) context.Context {
	w.batch = nil
	var shared []attribute.KeyValue
	var links []trace.Link
	for _, it := range w.members {
		if !it.sampled {
			continue
		}
		if shared == nil {
			shared = b.attributes(w)
		}
		it.endQueue(nil, shared...)
		_, it.run = b.tracer.Start(it.ctx, "run", trace.WithTimestamp(w.begun), trace.WithAttributes(shared...))
		links = append(links, trace.Link{SpanContext: it.run.SpanContext()})
	}
	if links == nil {
		return w.ctx
	}
	ctx, batch := b.tracer.Start(w.ctx, "batch", trace.WithNewRoot(), trace.WithTimestamp(w.begun), trace.WithLinks(links...),
		trace.WithAttributes(append(shared,
			attribute.Int("triptych.batch.requests", len(w.members)),
			attribute.String("triptych.model.name", b.cfg.Model),
			attribute.String("triptych.model.version", b.cfg.Version))...))
	for _, it := range w.members {
		if it.run != nil {
			it.run.AddLink(trace.Link{SpanContext: batch.SpanContext()})
		}
	}
	w.batch = batch
	return ctx
}

func (b *Batcher) attributes(w *work) []attribute.KeyValue {
	shared := []attribute.KeyValue{
		attribute.Int("triptych.batch.size", w.rows),
		attribute.String("triptych.batch.cut_reason", w.reason),
	}
	if b.cfg.Device != "" {
		shared = append(shared, attribute.String("triptych.device", b.cfg.Device))
	}
	return shared
}

// note tells in the batch's span what became of an attempt to run it.
func (w *work) note(err error) {
	if w.batch != nil {
		telemetry.Fail(w.batch, err)
	}
}

func (w *work) endBatch() {
	if w.batch != nil {
		w.batch.End()
	}
}
