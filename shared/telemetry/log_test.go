package telemetry_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/call"
	"triptych/shared/telemetry"
)

func TestLogLinesCarryIDs(t *testing.T) {
	var out bytes.Buffer
	cfg := telemetry.DefaultConfig()
	cfg.LogFormat = "json"
	tel := newTelemetry(t, cfg, &out)
	ctx := call.With(t.Context(), call.Info{RequestID: "r-1"})
	traced := trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xab}, SpanID: trace.SpanID{1}}))
	logger := tel.Logger.With("model", "m")
	logger.InfoContext(traced, "both")
	logger.InfoContext(ctx, "request")
	logger.Info("none")
	tel.Logger.WithGroup("g").With("k", 1).InfoContext(ctx, "grouped")
	tel.Logger.Debug("not wanted")

	const id = "ab000000000000000000000000000000"
	want := []map[string]any{
		{"level": "INFO", "msg": "both", "service": "predictor", "model": "m", "request_id": "r-1", "trace_id": id},
		{"level": "INFO", "msg": "request", "service": "predictor", "model": "m", "request_id": "r-1"},
		{"level": "INFO", "msg": "none", "service": "predictor", "model": "m"},
		{"level": "INFO", "msg": "grouped", "service": "predictor", "g": map[string]any{"k": 1.0, "request_id": "r-1"}},
	}
	var got []map[string]any
	for line := range strings.Lines(out.String()) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "time")
		got = append(got, fields)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLogLevelAndFormat(t *testing.T) {
	for level, want := range map[string]string{"debug": "dDiwe", "info": "iwe", "warn": "we", "ERROR": "e"} {
		var out bytes.Buffer
		cfg := telemetry.DefaultConfig()
		cfg.LogLevel = level
		logger := newTelemetry(t, cfg, &out).Logger
		logger.Debug("d")
		logger.DebugContext(t.Context(), "D")
		logger.Info("i")
		logger.Warn("w")
		logger.Error("e")
		got := ""
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, "msg=")
			got += rest[:1]
		}
		if got != want {
			t.Errorf("%s logs %q, want %q", level, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	tests := map[string]struct {
		change  func(*telemetry.Config)
		message string
	}{
		"default":      {func(*telemetry.Config) {}, ""},
		"all set":      {func(c *telemetry.Config) { *c = telemetry.Config{"[::1]:4317", 0, "WARN", "json"} }, ""},
		"level":        {func(c *telemetry.Config) { c.LogLevel = "loud" }, `--log-level is "loud", must be debug, info, warn or error`},
		"no level":     {func(c *telemetry.Config) { c.LogLevel = "" }, `--log-level is "", must be debug, info, warn or error`},
		"format":       {func(c *telemetry.Config) { c.LogFormat = "xml" }, `--log-format is "xml", must be text or json`},
		"ratio below":  {func(c *telemetry.Config) { c.SampleRatio = -0.1 }, "--trace-ratio is -0.1, must be from 0 to 1"},
		"ratio above":  {func(c *telemetry.Config) { c.SampleRatio = 1.5 }, "--trace-ratio is 1.5, must be from 0 to 1"},
		"ratio NaN":    {func(c *telemetry.Config) { c.SampleRatio = math.NaN() }, "--trace-ratio is NaN, must be from 0 to 1"},
		"URL":          {func(c *telemetry.Config) { c.OTLPEndpoint = "http://jaeger:4317" }, `--otlp-endpoint is "http://jaeger:4317", must be HOST:PORT`},
		"without port": {func(c *telemetry.Config) { c.OTLPEndpoint = "jaeger" }, `--otlp-endpoint is "jaeger", must be HOST:PORT`},
		"without host": {func(c *telemetry.Config) { c.OTLPEndpoint = ":4317" }, `--otlp-endpoint is ":4317", must be HOST:PORT`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := telemetry.DefaultConfig()
			tt.change(&cfg)
			got := ""
			if err := cfg.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.message {
				t.Errorf("got %q, want %q", got, tt.message)
			}
		})
	}
}

func TestBuildInfo(t *testing.T) {
	tel := newTelemetry(t, telemetry.DefaultConfig(), &bytes.Buffer{})
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, f := range families {
		names[f.GetName()] = f.GetMetric()[0].String()
	}
	if !strings.Contains(names["triptych_build_info"], telemetry.Version()) || names["go_goroutines"] == "" || names["process_open_fds"] == "" {
		t.Errorf("the registry has %v", names)
	}
	if !strings.HasPrefix(telemetry.Version(), "devel") {
		t.Errorf("version is %q", telemetry.Version())
	}
}
