package modelserver

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/failure"
)

// metrics are Triton's nv_inference_* counters, read from the statistics when
// they are scraped (so that they cost a request nothing), and one histogram.
type metrics struct {
	registry *Registry
	duration *prometheus.HistogramVec
}

var modelLabels = []string{"model", "version"}

// series is one of the summed times and counts, by Triton's name.
type series struct {
	desc  *prometheus.Desc
	value func(s *Statistics) float64
}

func newSeries(name, help string, value func(s *Statistics) float64) series {
	return series{prometheus.NewDesc(name, help, modelLabels, nil), value}
}

func micros(d duration) float64 { return float64(d.sum.Microseconds()) }

var counters = []series{
	newSeries("nv_inference_request_success", "Requests answered.", func(s *Statistics) float64 { return float64(s.success.count) }),
	newSeries("nv_inference_count", "Inferences made: a request with a batch of n counts n.", func(s *Statistics) float64 { return float64(s.inferences) }),
	newSeries("nv_inference_exec_count", "Executions of the model: a batch counts one.", func(s *Statistics) float64 { return float64(s.executions) }),
	newSeries("nv_inference_request_duration_us", "Summed time of answered requests, in microseconds.", func(s *Statistics) float64 { return micros(s.success) }),
	newSeries("nv_inference_queue_duration_us", "Summed time in the queue, in microseconds.", func(s *Statistics) float64 { return micros(s.queue) }),
	newSeries("nv_inference_compute_input_duration_us", "Summed time of preparing inputs, in microseconds.", func(s *Statistics) float64 { return micros(s.input) }),
	newSeries("nv_inference_compute_infer_duration_us", "Summed time of executing the model, in microseconds.", func(s *Statistics) float64 { return micros(s.infer) }),
	newSeries("nv_inference_compute_output_duration_us", "Summed time of preparing outputs, in microseconds.", func(s *Statistics) float64 { return micros(s.output) }),
}

var (
	failureDesc  = prometheus.NewDesc("nv_inference_request_failure", "Requests refused or failed, by reason.", append([]string{"reason"}, modelLabels...), nil)
	pendingDesc  = prometheus.NewDesc("nv_inference_pending_request_count", "Requests accepted and not yet executing.", modelLabels, nil)
	loadTimeDesc = prometheus.NewDesc("nv_model_load_duration_secs", "How long the last load took, in seconds.", modelLabels, nil)
	readyDesc    = prometheus.NewDesc("triptych_model_ready", "1 when the version can serve.", modelLabels, nil)
)

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

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range counters {
		ch <- c.desc
	}
	ch <- failureDesc
	ch <- pendingDesc
	ch <- loadTimeDesc
	ch <- readyDesc
}

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
		labels := []string{v.name, v.String()}
		ch <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, ready, labels...)
		if !v.inService() {
			return
		}
		ch <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(v.pending()), labels...)
		ch <- prometheus.MustNewConstMetric(loadTimeDesc, prometheus.GaugeValue, v.took().Seconds(), labels...)
		collectStatistics(ch, v.stats, labels)
	})
}

func collectStatistics(ch chan<- prometheus.Metric, s *Statistics, labels []string) {
	reasons := s.reasons()
	for _, reason := range failureReasons {
		ch <- prometheus.MustNewConstMetric(failureDesc, prometheus.CounterValue, float64(reasons[reason]), append([]string{reason}, labels...)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range counters {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, c.value(s), labels...)
	}
}
