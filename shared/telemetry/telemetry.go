// Package telemetry makes what a part of the system needs to be seen: a logger,
// a tracer and a registry of metrics. There are no globals: several services in
// one process each have their own.
package telemetry

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Telemetry is handed to every part that logs, traces or measures. Safe for
// concurrent use.
type Telemetry struct {
	Logger   *slog.Logger
	Tracer   trace.Tracer
	Registry *prometheus.Registry
}

// Discard is telemetry that nobody looks at: for tests, and for tools that are
// not services.
func Discard() *Telemetry {
	return &Telemetry{
		Logger:   slog.New(slog.DiscardHandler),
		Tracer:   noop.NewTracerProvider().Tracer("discard"),
		Registry: prometheus.NewRegistry(),
	}
}
