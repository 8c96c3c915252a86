package modelserver

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/failure"
)

// metrics are Triton's, read from the statistics when they are scraped (so that
// they cost a request nothing), and one histogram.
type metrics struct {
	registry *Registry
	duration *prometheus.HistogramVec
}

var modelLabels = []string{"model", "version"}

var readyDesc = prometheus.NewDesc("triptych_model_ready", "1 when the version can serve.", modelLabels, nil)

// durationBuckets fit services that answer within milliseconds, in seconds.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

func newMetrics(r *Registry, registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		registry: r,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "triptych_inference_request_duration_seconds",
			Help:    "Time of a request in this service by outcome, in seconds.",
			Buckets: durationBuckets,
		}, append([]string{"code"}, modelLabels...)),
	}
	if err := registerer.Register(m.duration); err != nil {
		return nil, err
	}
	return m, registerer.Register(m)
}

// observe counts one answer of a version.
func (m *metrics) observe(v *version, err error, took time.Duration) {
	m.duration.WithLabelValues(code(err), v.name, v.String()).Observe(took.Seconds())
}

// unserved is the label of requests that no version could take: callers who make
// names up share it, so that nobody can fill memory with names.
const unserved = "unknown"

func (m *metrics) observeUnserved(err error, took time.Duration) {
	m.duration.WithLabelValues(code(err), unserved, unserved).Observe(took.Seconds())
}

func code(err error) string {
	if err == nil {
		return "OK"
	}
	return failure.KindOf(err).String()
}

// forget drops the series of a version that is gone.
func (m *metrics) forget(v *version) {
	m.duration.DeletePartialMatch(prometheus.Labels{"model": v.name, "version": v.String()})
}

// Describe implements prometheus.Collector. It says nothing in advance, since the
// labels of a model's series are its own (metric_tags).
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. What was unloaded has no series; what
// could not be loaded only says so.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.registry.each(func(v *version) {
		state, reason := v.status()
		if reason == Unloaded {
			return
		}
		ready := 0.0
		if state == Ready {
			ready = 1
		}
		ch <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready, v.name, v.String())
		if v.inService() {
			v.instruments.collect(ch, v)
		}
	})
}
