package preprocess_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"triptych/services/preprocess/decode"
	"triptych/shared/telemetry"
)

// recording is telemetry whose spans are kept.
func recording() (*telemetry.Telemetry, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	tel := telemetry.Discard()
	tel.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	return tel, recorder
}

// attributes of a span, as text.
func attributes(span sdktrace.ReadOnlySpan) map[string]string {
	m := map[string]string{}
	for _, a := range span.Attributes() {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

func TestSpans(t *testing.T) {
	tel, recorder := recording()
	m := load(t, sample(t), tel)
	ctx, parent := tel.Tracer.Start(context.Background(), "server")
	if _, err := m.Infer(ctx, request(image(t, "cat.jpg"), image(t, "camera.png"))); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Infer(ctx, request([]byte("GIF89a"))); err == nil {
		t.Fatal("a broken image got a tensor")
	}
	seen := map[string]int{}
	for _, span := range recorder.Ended() {
		seen[span.Name()]++
		if span.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("%s is not a child of the caller's span", span.Name())
		}
		a := attributes(span)
		switch {
		case span.Name() == "decode" && a["triptych.image.format"] == "JPEG":
			delete(a, "triptych.image.bytes")
			want := map[string]string{
				"triptych.image.index": "0", "triptych.image.format": "JPEG", "triptych.image.width": "451", "triptych.image.height": "300",
			}
			if diff := cmp.Diff(want, a); diff != "" {
				t.Error(diff)
			}
		case span.Name() == "decode" && a["triptych.image.format"] == "GIF":
			if span.Status().Code != codes.Error || a["error.type"] != "BROKEN_IMAGE" {
				t.Errorf("the failed decode has status %v and %v", span.Status(), a)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"decode": 3, "transform": 2}, seen); diff != "" {
		t.Error(diff)
	}
}

// values are the counters, gauges and counts of a registry, by name and label
// values.
func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			all[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func TestMetrics(t *testing.T) {
	tel := telemetry.Discard()
	m := load(t, sample(t), tel)
	for _, data := range [][]byte{
		image(t, "cat.jpg"), image(t, "cat.jpg"), image(t, "camera.png"), caseImage(t, "o9.jpg"),
		[]byte("GIF89a"), []byte("%PDF"), caseImage(t, "bomb_1bit_20000.png"),
	} {
		_, _ = m.Infer(context.Background(), request(data)) // the failures are what is counted
	}
	got := values(t, tel.Registry)
	for name, want := range map[string]float64{
		"triptych_image_decode_seconds JPEG":                        3,
		"triptych_image_decode_seconds PNG":                         1,
		"triptych_image_transform_seconds":                          4,
		"triptych_image_refused_total BROKEN_IMAGE":                 1,
		"triptych_image_refused_total UNSUPPORTED_MEDIA":            1,
		"triptych_image_refused_total TOO_LARGE":                    1,
		"triptych_image_broken_exif_total":                          1,
		"triptych_image_decoder_panics_total":                       0,
		"triptych_image_decoder_info " + decode.PNGDecoder + " PNG": 1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", name, v, ok, want)
		}
	}
}
