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

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_http_requests_total", Help: "Requests answered over HTTP.",
		}, []string{"method", "route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "triptych_http_request_duration_seconds", Help: "Time from a request's headers to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration} {
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
