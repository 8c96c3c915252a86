package batcher

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// The reasons why a request was dropped before it was executed.
const (
	dropFull      = "full"
	dropTimeout   = "timeout"
	dropCancelled = "cancelled"
	dropDeadline  = "deadline"
)

func dropReason(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return dropCancelled
	}
	return dropDeadline
}

// Metrics are shared by the batchers of all models of a backend.
type Metrics struct {
	size    *prometheus.HistogramVec
	cuts    *prometheus.CounterVec
	dropped *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		size: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "triptych_batch_size", Help: "Rows in the batches that were executed.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}, []string{"model", "version"}),
		cuts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_batch_cut_total", Help: "Batches by the reason why they were cut: full, preferred, delay, idle, drain.",
		}, []string{"model", "version", "reason"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_queue_dropped_total", Help: "Requests that were refused by or dropped from the queue: full, timeout, cancelled, deadline.",
		}, []string{"model", "version", "reason"}),
	}
	for _, c := range []prometheus.Collector{m.size, m.cuts, m.dropped} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// labelled are the metrics of one version.
type labelled struct {
	size    prometheus.Observer
	cuts    map[string]prometheus.Counter
	dropped map[string]prometheus.Counter
}

// labelled makes every series at once, so that a counter is there before the
// first time it counts.
func (m *Metrics) labelled(model, version string) *labelled {
	l := &labelled{size: m.size.WithLabelValues(model, version), cuts: map[string]prometheus.Counter{}, dropped: map[string]prometheus.Counter{}}
	for _, reason := range []string{cutFull, cutPreferred, cutDelay, cutIdle, cutDrain} {
		l.cuts[reason] = m.cuts.WithLabelValues(model, version, reason)
	}
	for _, reason := range []string{dropFull, dropTimeout, dropCancelled, dropDeadline} {
		l.dropped[reason] = m.dropped.WithLabelValues(model, version, reason)
	}
	return l
}

func (l *labelled) batch(work *batch) {
	l.size.Observe(float64(work.rows))
	l.cuts[work.reason].Inc()
}

func (l *labelled) drop(reason string) { l.dropped[reason].Inc() }
