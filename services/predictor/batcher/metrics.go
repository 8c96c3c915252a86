package batcher

import (
	"context"
	"errors"
	"sync"

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
	age     *prometheus.HistogramVec
	cuts    *prometheus.CounterVec
	dropped *prometheus.CounterVec

	mu    sync.Mutex
	users map[version]int // batchers that count for a version
}

// version is what the series of a version have in common. While a version is
// loaded again its old and its new batcher count into the same series.
type version struct{ model, number string }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		size: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "triptych_batch_size", Help: "Rows in the batches that were executed.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}, []string{"model", "version"}),
		age: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "triptych_queue_age_seconds", Help: "How long a request had waited when its batch was cut.",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"model", "version"}),
		cuts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_batch_cut_total", Help: "Batches by the reason why they were cut: full, preferred, delay, idle, drain.",
		}, []string{"model", "version", "reason"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_queue_dropped_total", Help: "Requests that were refused by or dropped from the queue: full, timeout, cancelled, deadline.",
		}, []string{"model", "version", "reason"}),
		users: map[version]int{},
	}
	for _, c := range []prometheus.Collector{m.size, m.age, m.cuts, m.dropped} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// labelled are the metrics of one version.
type labelled struct {
	size    prometheus.Observer
	age     prometheus.Observer
	cuts    map[string]prometheus.Counter
	dropped map[string]prometheus.Counter
	// release drops the series when no other batcher of the version has them.
	// Only the first call counts.
	release func()
}

// hold makes every series of a version at once, so that a counter is there
// before the first time it counts.
func (m *Metrics) hold(model, number string) *labelled {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := version{model, number}
	m.users[v]++
	l := &labelled{
		size: m.size.WithLabelValues(model, number),
		age:  m.age.WithLabelValues(model, number),
		cuts: map[string]prometheus.Counter{}, dropped: map[string]prometheus.Counter{},
	}
	for _, reason := range []string{cutFull, cutPreferred, cutDelay, cutIdle, cutDrain} {
		l.cuts[reason] = m.cuts.WithLabelValues(model, number, reason)
	}
	for _, reason := range []string{dropFull, dropTimeout, dropCancelled, dropDeadline} {
		l.dropped[reason] = m.dropped.WithLabelValues(model, number, reason)
	}
	l.release = sync.OnceFunc(func() { m.release(v) })
	return l
}

func (m *Metrics) release(v version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users[v]--; m.users[v] > 0 {
		return
	}
	delete(m.users, v)
	labels := prometheus.Labels{"model": v.model, "version": v.number}
	m.size.DeletePartialMatch(labels)
	m.age.DeletePartialMatch(labels)
	m.cuts.DeletePartialMatch(labels)
	m.dropped.DeletePartialMatch(labels)
}

func (l *labelled) batch(work *batch) {
	l.size.Observe(float64(work.rows))
	l.cuts[work.reason].Inc()
	for _, it := range work.members {
		l.age.Observe(it.waited.Seconds())
	}
}

func (l *labelled) drop(reason string) { l.dropped[reason].Inc() }
