package telemetry

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// linkSampler keeps a new trace that is linked with one that is kept, and leaves
// the rest to the next sampler. A batch is a trace of its own: without this, a
// request's trace could lead to a batch that was thrown away.
type linkSampler struct{ next sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (s linkSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for _, l := range p.Links {
		if l.SpanContext.IsSampled() {
			return sdktrace.AlwaysSample().ShouldSample(p)
		}
	}
	return s.next.ShouldSample(p)
}

// Description implements sdktrace.Sampler.
func (s linkSampler) Description() string { return "LinkSampler{" + s.next.Description() + "}" }
