package otlp_test

import (
	"io"
	"testing"

	"triptych/loadtest/bench/otlp"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestReceiver(t *testing.T) {
	r, err := otlp.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	cfg := telemetry.DefaultConfig()
	cfg.OTLPEndpoint = r.Address
	tel, err := telemetry.New(t.Context(), "it", cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, span := tel.Tracer.Start(t.Context(), "span")
		span.End()
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.Spans(); got != 3 {
		t.Errorf("%d spans have come, want 3", got)
	}
}
