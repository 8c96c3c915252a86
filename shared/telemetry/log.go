package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"triptych/shared/call"
)

func newLogger(cfg Config, out io.Writer) *slog.Logger {
	var level slog.LevelVar
	// Validate has read the level once.
	_ = level.UnmarshalText([]byte(cfg.LogLevel))
	options := &slog.HandlerOptions{Level: &level}
	if cfg.LogFormat == "json" {
		return slog.New(&contextHandler{slog.NewJSONHandler(out, options)})
	}
	return slog.New(&contextHandler{slog.NewTextHandler(out, options)})
}

// Logger makes the logger of something that is no service of its own. Logs go to
// out.
func Logger(name string, cfg Config, out io.Writer) *slog.Logger {
	return newLogger(cfg, out).With("service", name)
}

// contextHandler adds the ids of the request and of the trace to every line that
// is logged with a context.
type contextHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h *contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := call.Of(ctx).RequestID; id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &contextHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *contextHandler) WithGroup(name string) slog.Handler {
	return &contextHandler{h.Handler.WithGroup(name)}
}
