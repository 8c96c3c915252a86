package sink

import (
	"encoding/hex"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"triptych/cli/traces"
)

func serviceName(attributes []*common.KeyValue) string {
	for _, a := range attributes {
		if a.GetKey() == "service.name" {
			return a.GetValue().GetStringValue()
		}
	}
	return "unknown"
}

// convert turns a span of OTLP into Jaeger's form.
func convert(service string, span *otlp.Span) traces.Span {
	const perMicro = 1000
	id := hex.EncodeToString(span.GetTraceId())
	s := traces.Span{
		TraceID:       id,
		SpanID:        hex.EncodeToString(span.GetSpanId()),
		OperationName: span.GetName(),
		References:    []traces.Reference{},
		StartTime:     int64(span.GetStartTimeUnixNano() / perMicro),
		Duration:      int64((span.GetEndTimeUnixNano() - span.GetStartTimeUnixNano()) / perMicro),
		Tags:          []traces.Tag{},
		ProcessID:     service,
	}
	if len(span.GetParentSpanId()) > 0 {
		s.References = append(s.References, traces.Reference{RefType: traces.ChildOf, TraceID: id, SpanID: hex.EncodeToString(span.GetParentSpanId())})
	}
	for _, l := range span.GetLinks() {
		s.References = append(s.References, traces.Reference{RefType: traces.FollowsFrom, TraceID: hex.EncodeToString(l.GetTraceId()), SpanID: hex.EncodeToString(l.GetSpanId())})
	}
	for _, a := range span.GetAttributes() {
		s.Tags = append(s.Tags, tag(a))
	}
	if span.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR {
		s.Tags = append(s.Tags,
			traces.Tag{Key: "error", Type: "bool", Value: true},
			traces.Tag{Key: "otel.status_description", Type: "string", Value: span.GetStatus().GetMessage()})
	}
	return s
}

func tag(a *common.KeyValue) traces.Tag {
	switch v := a.GetValue().GetValue().(type) {
	case *common.AnyValue_BoolValue:
		return traces.Tag{Key: a.GetKey(), Type: "bool", Value: v.BoolValue}
	case *common.AnyValue_IntValue:
		return traces.Tag{Key: a.GetKey(), Type: "int64", Value: v.IntValue}
	case *common.AnyValue_DoubleValue:
		return traces.Tag{Key: a.GetKey(), Type: "float64", Value: v.DoubleValue}
	default:
		return traces.Tag{Key: a.GetKey(), Type: "string", Value: a.GetValue().GetStringValue()}
	}
}
