// Package telemetry makes what a part of the system needs to be seen: a logger,
// a tracer and a registry of metrics. There are no globals: several services in
// one process each have their own.
package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Telemetry is handed to every part that logs, traces or measures. Safe for
// concurrent use.
type Telemetry struct {
	Logger         *slog.Logger
	Tracer         trace.Tracer
	TracerProvider trace.TracerProvider
	Registry       *prometheus.Registry

	shutdown func(context.Context) error
}

// scope names the instrumentation in spans.
const scope = "triptych"

// Discard is telemetry that nobody looks at: for tests, and for tools that are
// not services.
func Discard() *Telemetry {
	provider := noop.NewTracerProvider()
	return &Telemetry{
		Logger:         slog.New(slog.DiscardHandler),
		Tracer:         provider.Tracer(scope),
		TracerProvider: provider,
		Registry:       prometheus.NewRegistry(),
	}
}

// New makes the telemetry of a service. Logs go to out. Shutdown must be called.
func New(ctx context.Context, service string, cfg Config, out io.Writer) (*Telemetry, error) {
	registry := prometheus.NewRegistry()
	logger := Logger(service, cfg, out)
	if err := registerProcess(registry, service); err != nil {
		return nil, err
	}
	provider, shutdown, err := newTracerProvider(ctx, service, cfg, logger, registry)
	if err != nil {
		return nil, err
	}
	return &Telemetry{
		Logger:         logger,
		Tracer:         provider.Tracer(scope),
		TracerProvider: provider,
		Registry:       registry,
		shutdown:       shutdown,
	}, nil
}

func registerProcess(registry *prometheus.Registry, service string) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "triptych_build_info",
		Help:        "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"service": service, "version": Version()},
	})
	info.Set(1)
	return errors.Join(
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
		registry.Register(info),
	)
}

// Shutdown sends what is left. Call it when nothing makes spans any more, with a
// context that has time left.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t.shutdown == nil {
		return nil
	}
	return t.shutdown(ctx)
}

// version is set by the linker.
var version string

// Version is the version of the program: the linker's, or the commit.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}
