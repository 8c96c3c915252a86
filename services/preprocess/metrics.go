package preprocess

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// metrics are the backend's own; requests, queue and compute times are counted
// by the model server. Labels have few values: formats and kinds.
type metrics struct {
	decode     map[decode.Format]prometheus.Observer // looked up once
	transform  prometheus.Histogram
	refused    *prometheus.CounterVec
	panics     prometheus.Counter
	brokenEXIF prometheus.Counter
	decoder    *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	buckets := prometheus.ExponentialBuckets(0.0005, 2, 14)
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "triptych_image_decode_seconds", Help: "Time to decode an image.", Buckets: buckets,
	}, []string{"format"})
	m := &metrics{
		decode: map[decode.Format]prometheus.Observer{},
		transform: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "triptych_image_transform_seconds", Help: "Time to resize, crop and lay out an image.", Buckets: buckets,
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_image_refused_total", Help: "Images that got no tensor, by the kind of failure.",
		}, []string{"kind"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "triptych_image_decoder_panics_total", Help: "Images on which a decoder panicked.",
		}),
		brokenEXIF: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "triptych_image_broken_exif_total", Help: "Images whose EXIF data could not be read; they count as upright.",
		}),
		decoder: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "triptych_image_decoder_info", Help: "What decodes a format in this build.",
		}, []string{"format", "decoder"}),
	}
	collectors := []prometheus.Collector{seconds, m.transform, m.refused, m.panics, m.brokenEXIF, m.decoder}
	errs := make([]error, len(collectors))
	for i, c := range collectors {
		errs[i] = registry.Register(c)
	}
	m.decode[decode.Raw] = seconds.WithLabelValues(string(decode.Raw))
	for format, decoder := range decode.Decoders() {
		m.decoder.WithLabelValues(string(format), decoder).Set(1)
		m.decode[format] = seconds.WithLabelValues(string(format))
	}
	return m, errors.Join(errs...)
}

// decoded records the outcome of one decode.
func (m *metrics) decoded(header decode.Header, err error, took time.Duration) {
	if err != nil {
		m.refuse(err)
		return
	}
	m.decode[header.Format].Observe(took.Seconds())
	if header.BrokenEXIF {
		m.brokenEXIF.Inc()
	}
}

// refuse counts an image that gets no tensor.
func (m *metrics) refuse(err error) {
	m.refused.WithLabelValues(failure.KindOf(err).String()).Inc()
	var panicked *failure.Panic
	if errors.As(err, &panicked) {
		m.panics.Inc()
	}
}
