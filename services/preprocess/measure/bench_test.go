package measure_test

import (
	"testing"

	"triptych/services/preprocess"
	"triptych/services/preprocess/measure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// local is the model in this process.
func local(tb testing.TB) modelserver.Model {
	tb.Helper()
	cfg, err := modelconfig.ParseText(modelconfig.Filename, read(tb, "..", "models", model, modelconfig.Filename))
	if err != nil {
		tb.Fatal(err)
	}
	b, err := preprocess.NewBackend(preprocess.DefaultConfig(), telemetry.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	m, err := b.Load(tb.Context(), modelserver.Spec{Config: cfg, Version: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// BenchmarkOverhead: what the service adds to the model, in processor time, for a
// JPEG of about 120 kB and a tensor of 150 kB, by 16 callers.
func BenchmarkOverhead(b *testing.B) {
	const callers, calls = 16, 1000
	s, m := start(b), local(b)
	data := photograph(b, 580, 435)
	request := measure.Request(model, input, data)
	got, err := s.Overhead(b.Context(), m, request, callers, calls, b.N)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(data)), "bytes")
	b.ReportMetric(got.Service.Seconds()*1e3, "service-ms/image")
	b.ReportMetric(got.Function.Seconds()*1e3, "function-ms/image")
	b.ReportMetric(got.Added().Seconds()*1e3, "added-ms/image")
}
