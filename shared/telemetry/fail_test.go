package telemetry_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// The status has the caller's message, the event the cause too; no error, no mark.
func TestFail(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	for _, err := range []error{nil, failure.Wrap(errors.New("secret"), failure.Internal, "the model broke")} {
		_, span := provider.Tracer("").Start(t.Context(), "run")
		telemetry.Fail(span, err)
		span.End()
	}
	spans := kept.GetSpans()
	if s := spans[0]; s.Status.Code != codes.Unset || len(s.Events) != 0 {
		t.Errorf("without an error the span has %v and %d events", s.Status, len(s.Events))
	}
	if s := spans[1]; s.Status.Code != codes.Error || s.Status.Description != "the model broke" || len(s.Events) != 1 {
		t.Errorf("the span has %v and %d events", s.Status, len(s.Events))
	}
}
