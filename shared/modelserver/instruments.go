package modelserver

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/proto/inference"
	"triptych/shared/modelconfig"
)

// instruments are the series of one version, with labels of its own.
type instruments struct {
	labels        prometheus.Labels
	firstResponse prometheus.Histogram
}

// firstResponseFamily is Triton's only built-in histogram. firstResponseBuckets
// are its own, in milliseconds; a model's model_metrics go before them.
const firstResponseFamily = "nv_inference_first_response_histogram_ms"

var firstResponseBuckets = []float64{100, 500, 2000, 5000}

// newInstruments makes the series of a version whose configuration is checked.
func newInstruments(cfg *inference.ModelConfig, version string) *instruments {
	labels := prometheus.Labels{"model": cfg.GetName(), "version": version}
	for key, value := range cfg.GetMetricTags() {
		labels[modelconfig.MetricLabel(key)] = strings.ToValidUTF8(value, "\uFFFD")
	}
	buckets := firstResponseBuckets
	for _, control := range cfg.GetModelMetrics().GetMetricControl() {
		if control.GetMetricIdentifier().GetFamily() == firstResponseFamily && len(control.GetHistogramOptions().GetBuckets()) > 0 {
			buckets = control.GetHistogramOptions().GetBuckets()
		}
	}
	return &instruments{labels: labels, firstResponse: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: firstResponseFamily, Help: "Time to the first answer, in milliseconds.",
		Buckets: buckets, ConstLabels: labels,
	})}
}

// reading is one number to tell, by Triton's name where Triton has it.
type reading struct {
	name, help string
	kind       prometheus.ValueType
	value      float64
}

func micros(d duration) float64 { return float64(d.sum.Microseconds()) }

// readings are the numbers that every version has.
func (s *Statistics) readings() []reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []reading{
		counter("nv_inference_request_success", "Requests answered.", float64(s.success.count)),
		counter("nv_inference_count", "Inferences made: a request with a batch of n counts n. An answer from the cache counts none.", float64(s.inferences)),
		counter("nv_inference_exec_count", "Executions of the model: a batch counts one.", float64(s.executions)),
		counter("nv_inference_request_duration_us", "Summed time of answered requests, in microseconds.", micros(s.success)),
		counter("nv_inference_queue_duration_us", "Summed time in the queue, in microseconds.", micros(s.queue)),
		counter("nv_inference_compute_input_duration_us", "Summed time of preparing inputs, in microseconds.", micros(s.input)),
		counter("nv_inference_compute_infer_duration_us", "Summed time of executing the model, in microseconds.", micros(s.infer)),
		counter("nv_inference_compute_output_duration_us", "Summed time of preparing outputs, in microseconds.", micros(s.output)),
	}
}

// cacheReadings are the numbers of a version with a response cache.
func (s *Statistics) cacheReadings(u usage) []reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []reading{
		counter("nv_cache_num_hits_per_model", "Requests answered from the response cache.", float64(s.cacheHit.count)),
		counter("nv_cache_num_misses_per_model", "Requests that the response cache had no answer for.", float64(s.cacheMiss.count)),
		counter("nv_cache_hit_duration_per_model", "Summed time of looking up answers that were there, in microseconds.", micros(s.cacheHit)),
		counter("nv_cache_miss_duration_per_model", "Summed time of looking up answers that were not there and of keeping them, in microseconds.", micros(s.cacheMiss)),
		counter("triptych_coalesced_total", "Requests that were given the outcome of an equal request's run.", float64(s.joined)),
		gauge("triptych_response_cache_entries", "Answers kept.", float64(u.entries)),
		gauge("triptych_response_cache_bytes", "Bytes that the answers kept take.", float64(u.bytes)),
		counter("triptych_response_cache_evictions_total", "Answers given up to make room for others.", float64(u.evictions)),
	}
}

func counter(name, help string, value float64) reading {
	return reading{name, help, prometheus.CounterValue, value}
}

func gauge(name, help string, value float64) reading {
	return reading{name, help, prometheus.GaugeValue, value}
}

func (i *instruments) collect(ch chan<- prometheus.Metric, v *version) {
	readings := append(v.stats.readings(),
		gauge("nv_inference_pending_request_count", "Requests accepted and not yet executing.", float64(v.pending())),
		gauge("nv_model_load_duration_secs", "How long the last load took, in seconds.", v.took().Seconds()),
	)
	if v.cache != nil {
		readings = append(readings, v.stats.cacheReadings(v.cache.usage())...)
	}
	for _, r := range readings {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(r.name, r.help, nil, i.labels), r.kind, r.value)
	}
	failures := prometheus.NewDesc("nv_inference_request_failure", "Requests refused or failed, by reason.", []string{"reason"}, i.labels)
	reasons := v.stats.reasons()
	for _, reason := range failureReasons {
		ch <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, float64(reasons[reason]), reason)
	}
	ch <- i.firstResponse
}
