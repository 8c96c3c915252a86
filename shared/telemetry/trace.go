package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Bounds of the road to the collector. A request makes about a dozen spans, so
// the queue holds a few hundred requests; what does not fit is dropped and
// counted, never waited for.
const (
	spanQueue     = 8192
	spanBatch     = 512
	spanDelay     = 500 * time.Millisecond
	exportTimeout = 5 * time.Second
)

func newTracerProvider(ctx context.Context, service string, cfg Config, logger *slog.Logger, registry *prometheus.Registry) (trace.TracerProvider, func(context.Context) error, error) {
	if cfg.OTLPEndpoint == "" {
		// Nothing is kept, but requests have a trace id to go by in logs and answers,
		// and a caller's own trace goes on.
		provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
		return provider, provider.Shutdown, nil
	}
	exporter, err := otlptracegrpc.New(ctx,
		otlptracegrpc.WithEndpoint(cfg.OTLPEndpoint),
		otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithTimeout(exportTimeout),
		// No retries: a batch that waits for a collector that is down would make
		// the ones behind it wait too, and the end of the process.
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: false}),
	)
	if err != nil {
		return nil, nil, err
	}
	counted, err := newCountingExporter(exporter, logger, registry)
	if err != nil {
		return nil, nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(linkSampler{sdktrace.TraceIDRatioBased(cfg.SampleRatio)})),
		sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName(service), semconv.ServiceVersion(Version()))),
		sdktrace.WithSpanProcessor(newBoundedProcessor(counted)),
	)
	return provider, func(ctx context.Context) error {
		err := provider.Shutdown(ctx)
		// When ctx has ended first, what is still on its way is cut off and counted.
		return errors.Join(err, exporter.Shutdown(ctx))
	}, nil
}

// boundedProcessor counts the spans that the batch processor of the SDK would
// drop without a word: it keeps count of what is waiting.
type boundedProcessor struct {
	sdktrace.SpanProcessor
	exporter *countingExporter
}

func newBoundedProcessor(exporter *countingExporter) *boundedProcessor {
	return &boundedProcessor{
		SpanProcessor: sdktrace.NewBatchSpanProcessor(exporter,
			sdktrace.WithMaxQueueSize(spanQueue),
			sdktrace.WithMaxExportBatchSize(spanBatch),
			sdktrace.WithBatchTimeout(spanDelay),
			sdktrace.WithExportTimeout(exportTimeout),
		),
		exporter: exporter,
	}
}

// OnEnd implements sdktrace.SpanProcessor.
func (p *boundedProcessor) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if p.exporter.waiting.Add(1) > spanQueue {
		p.exporter.waiting.Add(-1)
		p.exporter.dropped.WithLabelValues("queue").Inc()
		return
	}
	p.SpanProcessor.OnEnd(s)
}

// countingExporter counts the spans that could not be sent and logs the first
// failure of a row, so that a collector that is down is seen once.
type countingExporter struct {
	sdktrace.SpanExporter
	logger  *slog.Logger
	dropped *prometheus.CounterVec
	waiting atomic.Int64
	failing atomic.Bool
}

func newCountingExporter(next sdktrace.SpanExporter, logger *slog.Logger, registry *prometheus.Registry) (*countingExporter, error) {
	e := &countingExporter{
		SpanExporter: next,
		logger:       logger,
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_spans_dropped_total",
			Help: "Spans that never reached the collector: the queue was full, or the export failed.",
		}, []string{"reason"}),
	}
	return e, registry.Register(e.dropped)
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, makeLegible(spans))
	e.waiting.Add(-int64(len(spans)))
	if err == nil {
		e.failing.Store(false)
		return nil
	}
	e.dropped.WithLabelValues("export").Add(float64(len(spans)))
	if !e.failing.Swap(true) {
		e.logger.Warn("traces can't be sent", "error", err)
	}
	return nil
}
