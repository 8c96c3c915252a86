package postprocess_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/services/postprocess"
	"triptych/shared/telemetry"
)

func TestSpan(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	tel := telemetry.Discard()
	tel.Tracer = provider.Tracer("test")
	model, err := loadWith(t, postprocess.DefaultConfig(), tel, threeClasses, threeLabels)
	if err != nil {
		t.Fatal(err)
	}
	ctx, parent := tel.Tracer.Start(t.Context(), "server")
	if _, err := model.Infer(ctx, request(1, 2, 3, 4, 5, 6)); err != nil {
		t.Fatal(err)
	}
	if _, err := model.Infer(ctx, request(nan, 2, 3)); err == nil {
		t.Fatal("NaN is answered")
	}
	parent.End()

	good, bad := recorder.Ended()[0], recorder.Ended()[1]
	if good.Name() != "top_k" || good.Parent().SpanID() != parent.SpanContext().SpanID() {
		t.Errorf("span %q has parent %s, want top_k under %s", good.Name(), good.Parent().SpanID(), parent.SpanContext().SpanID())
	}
	got := map[string]any{}
	for _, kv := range good.Attributes() {
		got[string(kv.Key)] = kv.Value.AsInterface()
	}
	want := map[string]any{"triptych.batch.size": int64(2), "triptych.classes": int64(3), "triptych.top_k": int64(2), "triptych.activation": "softmax"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if good.Status().Code != codes.Unset || bad.Status().Code != codes.Error || len(bad.Events()) != 1 {
		t.Errorf("status %v and %v, %d events", good.Status(), bad.Status(), len(bad.Events()))
	}
}
