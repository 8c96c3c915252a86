package telemetry

import (
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
)

// Fail shows in a span what went wrong: the whole error as an event, and as the
// status what the caller may read. A nil error changes nothing.
func Fail(span trace.Span, err error) {
	if err == nil {
		return
	}
	span.RecordError(err)
	span.SetStatus(codes.Error, failure.Message(err))
}
