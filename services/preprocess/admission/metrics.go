package admission

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// register makes the metrics that tell who waits, how long, and what those hold
// that are let in. Labels are resolved here: an image costs no look-up.
func (q *Queue) register(registry prometheus.Registerer) error {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "triptych_image_queue_seconds", Help: "Time that an image waited to be decoded.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	}, []string{"lane"})
	left := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "triptych_image_queue_left_total", Help: "Images that were not decoded, for their callers went while they waited.",
	}, []string{"lane"})
	for _, l := range []*lane{&q.small, &q.large} {
		l.seconds, l.left = seconds.WithLabelValues(l.name), left.WithLabelValues(l.name)
	}
	collectors := append(q.gauges(), seconds, left)
	errs := make([]error, len(collectors))
	for i, c := range collectors {
		errs[i] = registry.Register(c)
	}
	return errors.Join(errs...)
}

// gauges are read when somebody asks.
func (q *Queue) gauges() []prometheus.Collector {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 {
			q.mu.Lock()
			defer q.mu.Unlock()
			return value()
		})
	}
	all := make([]prometheus.Collector, 0, 8)
	all = append(all,
		gauge("triptych_image_budget_bytes", "Bytes that the images that are worked on may hold together.", nil,
			func() float64 { return float64(q.cfg.Budget) }),
		gauge("triptych_image_held_bytes", "Bytes of files that requests hold, waiting or worked on.", nil,
			func() float64 { return float64(q.held.bytes + q.held.bulk) }),
	)
	for _, l := range []*lane{&q.small, &q.large} {
		labels := prometheus.Labels{"lane": l.name}
		all = append(all,
			gauge("triptych_image_queue_depth", "Images that wait to be decoded.", labels, func() float64 { return float64(len(l.waiting)) }),
			gauge("triptych_image_working", "Images that are worked on.", labels, func() float64 { return float64(l.slots) }),
			gauge("triptych_image_working_bytes", "Bytes that the images that are worked on may hold.", labels, func() float64 { return float64(l.bytes) }),
		)
	}
	return all
}
