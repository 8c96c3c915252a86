package feed_test

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	pb "triptych/proto/jobs"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// Each item has a trace of its own, linked to the request that brought the job.
func TestTraces(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
	tel := telemetry.Discard()
	tel.Tracer = provider.Tracer("test")
	store := newSystem(t).store()
	serve(t, store, &models{})
	newGateway(t, store, quick(), tel)
	accept(t, store, "j", 3, func(j *pb.Job, items []*pb.Item) {
		j.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		items[2].Input = &pb.Item_Error{Error: &pb.Error{Kind: "INVALID", Message: "no"}}
	})
	ended(t, store, "j")
	var roots []trace.ReadOnlySpan
	testkit.Eventually(t, soon, "all items' spans have ended", func() bool {
		roots = recorder.Ended()
		return len(roots) == 3
	})
	traces := map[string]bool{}
	for _, s := range roots {
		traces[s.SpanContext().TraceID().String()] = true
		if s.Name() != "job item" || s.Parent().IsValid() || len(s.Links()) != 1 || s.Links()[0].SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("a span %q with links %v", s.Name(), s.Links())
		}
	}
	for item := range uint32(3) {
		if id := verdict(t, store, "j", item).GetTraceId(); !traces[id] {
			t.Errorf("item %d has the trace %q", item, id)
		}
	}
}
