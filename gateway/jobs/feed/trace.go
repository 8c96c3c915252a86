package feed

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/jobs"
)

// begin gives an item its trace: a root of its own, linked to the request that
// brought the job. An item that is started again goes on in the same trace. The
// span ends with the item.
func (t *term) begin(w *piece, record *pb.Job) {
	f := w.flight
	if f.span != nil {
		f.span.AddEvent("started again", trace.WithAttributes(attribute.Int64("triptych.attempt", int64(f.attempt))))
	} else {
		_, f.span = t.tel.Tracer.Start(t.ctx, "job item", trace.WithNewRoot(), trace.WithLinks(origin(record)...), trace.WithAttributes(
			attribute.String("triptych.job", record.GetId()),
			attribute.Int64("triptych.item", int64(f.item)),
			attribute.String("triptych.model", record.GetModel()),
			attribute.Int64("triptych.attempt", int64(f.attempt)),
		))
	}
	ctx := call.With(t.ctx, call.Info{RequestID: record.GetRequestId(), Priority: uint64(record.GetPriority())})
	f.ctx = trace.ContextWithSpan(ctx, f.span)
}

// origin links to the request that brought a job.
func origin(record *pb.Job) []trace.Link {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": record.GetTraceparent()})
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return nil
	}
	return []trace.Link{{SpanContext: sc}}
}

// trace is the id of an item's trace; empty when it has none.
func (f *flight) trace() string {
	if f == nil || f.span == nil || !f.span.SpanContext().HasTraceID() {
		return ""
	}
	return f.span.SpanContext().TraceID().String()
}

// end ends an item's span; without an outcome, another may go on with the item.
func (f *flight) end(outcome pb.Outcome) {
	if f.span == nil {
		return
	}
	if outcome == pb.Outcome_OUTCOME_UNSPECIFIED {
		f.span.AddEvent("let go")
	} else {
		f.span.SetAttributes(attribute.String("triptych.outcome", jobs.OutcomeName(outcome)))
	}
	if outcome == pb.Outcome_OUTCOME_DEAD {
		f.span.SetStatus(codes.Error, "given up")
	}
	f.span.End()
}
