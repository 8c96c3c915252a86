package front

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/failure"
)

// metrics are the front's own. No label takes its value from a caller.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer, a *admission) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_http_requests_total", Help: "Requests answered over HTTP.",
		}, []string{"method", "route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "triptych_http_request_duration_seconds", Help: "Time from a request's headers to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
	}
	refused := func(reason string, value func(usage) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "triptych_http_refused_total", Help: "Requests that were not admitted, by what had no room.", ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { return float64(value(a.usage())) })
	}
	collectors := []prometheus.Collector{
		m.requests, m.duration,
		refused("requests", func(u usage) uint64 { return u.refusedRequests }),
		refused("bytes", func(u usage) uint64 { return u.refusedBytes }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "triptych_http_requests_in_flight", Help: "Admitted requests that are not answered yet.",
		}, func() float64 { return float64(a.usage().requests) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "triptych_http_bytes_in_flight", Help: "Bytes of the bodies of admitted requests.",
		}, func() float64 { return float64(a.usage().bytes) }),
	}
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, failure.Wrap(err, failure.Internal, "register the metrics of the HTTP front")
		}
	}
	return m, nil
}

func (m *metrics) done(e *exchange, status int, took time.Duration) {
	m.requests.WithLabelValues(e.method, e.route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(e.route).Observe(took.Seconds())
}
