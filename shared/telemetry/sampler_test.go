package telemetry

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func TestLinkSampler(t *testing.T) {
	t.Parallel()
	kept := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})
	dropped := kept.WithTraceFlags(0)
	sampler := linkSampler{sdktrace.NeverSample()}
	for name, tt := range map[string]struct {
		links []trace.Link
		want  sdktrace.SamplingDecision
	}{
		"no link":                {nil, sdktrace.Drop},
		"links to dropped ones":  {[]trace.Link{{SpanContext: dropped}}, sdktrace.Drop},
		"one link to a kept one": {[]trace.Link{{SpanContext: dropped}, {SpanContext: kept}}, sdktrace.RecordAndSample},
	} {
		if got := sampler.ShouldSample(sdktrace.SamplingParameters{Links: tt.links}).Decision; got != tt.want {
			t.Errorf("%s: decision %v, want %v", name, got, tt.want)
		}
	}
}
