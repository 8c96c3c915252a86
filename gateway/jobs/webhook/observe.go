package webhook

import (
	"errors"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
)

// metrics are those of webhooks.
type metrics struct {
	calls    *prometheus.CounterVec
	duration prometheus.Histogram
}

// The values of the label result.
const (
	delivered = "delivered"
	later     = "later"
	refused   = "refused"
	cancelled = "cancelled"
)

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_webhook_calls_total", Help: "Tries of callbacks, by what came of them: delivered, later (may be tried again), refused, cancelled.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "triptych_webhook_duration_seconds", Help: "Time that tries of callbacks took.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30},
		}),
	}
	for _, result := range []string{delivered, later, refused, cancelled} {
		m.calls.WithLabelValues(result)
	}
	return m, errors.Join(r.Register(m.calls), r.Register(m.duration))
}

func (m *metrics) observe(err error, took time.Duration) {
	m.calls.WithLabelValues(result(err)).Inc()
	m.duration.Observe(took.Seconds())
}

func result(err error) string {
	switch kind := failure.KindOf(err); {
	case err == nil:
		return delivered
	case kind == failure.Cancelled || kind == failure.Deadline:
		return cancelled
	case kind.Retryable():
		return later
	default:
		return refused
	}
}

// describe completes the span of a call. The path and the query stay out of it: they
// may hold what only the receiver should know.
func describe(span trace.Span, address string, status int, err error) {
	if u, uerr := url.Parse(address); uerr == nil {
		span.SetAttributes(semconv.HTTPRequestMethodPost, semconv.ServerAddress(u.Hostname()), semconv.URLScheme(u.Scheme))
	}
	if status > 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	if err != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(failure.KindOf(err).String()))
		span.SetStatus(codes.Error, failure.Message(err))
	}
}
