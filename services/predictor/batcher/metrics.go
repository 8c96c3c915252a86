package batcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/failure"
)

// The reasons why a request was dropped before it was executed.
const (
	dropFull      = "full"
	dropTimeout   = "timeout"
	dropCancelled = "cancelled"
	dropDeadline  = "deadline"
	dropHopeless  = "unmeetable"
)

// The reasons why members of a batch ran once more.
const (
	retryFailed = "failed"
	retryMemory = "out_of_memory"
)

var (
	cutReasons   = []string{cutFull, cutEnough, cutPreferred, cutDelay, cutDeadline, cutShape, cutShare, cutProbe, cutIdle, cutDrain}
	dropReasons  = []string{dropFull, dropTimeout, dropCancelled, dropDeadline, dropHopeless}
	retryReasons = []string{retryFailed, retryMemory}
)

func dropReason(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return dropCancelled
	}
	return dropDeadline
}

// Metrics are shared by the batchers of all models of a service. They know which
// batchers are open, for what is asked only when somebody wants to know.
type Metrics struct {
	size    *prometheus.HistogramVec
	age     *prometheus.HistogramVec
	cuts    *prometheus.CounterVec
	dropped *prometheus.CounterVec
	retried *prometheus.CounterVec
	limit   *prometheus.GaugeVec

	mu    sync.Mutex
	users map[version]int // batchers that count for a version
	open  map[*Batcher]struct{}
}

var (
	oldestDesc  = prometheus.NewDesc("triptych_queue_oldest_seconds", "How long the request has waited that waits longest.", []string{"model", "version"}, nil)
	runningDesc = prometheus.NewDesc("triptych_batch_running_seconds", "How long the batch has been running that runs longest.", []string{"model", "version"}, nil)
)

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
			Name: "triptych_batch_cut_total", Help: "Batches by the reason why they were cut: full, enough, preferred, delay, deadline, shape, probe, idle, drain.",
		}, []string{"model", "version", "reason"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_queue_dropped_total", Help: "Requests that were refused by or dropped from the queue: full, timeout, cancelled, deadline, unmeetable.",
		}, []string{"model", "version", "reason"}),
		retried: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_batch_retries_total", Help: "Batches whose requests ran once more: failed (one by one), out_of_memory (in halves).",
		}, []string{"model", "version", "reason"}),
		limit: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "triptych_batch_limit_rows", Help: "The most rows of a batch now: max_batch_size, or less for a while after the device's memory was too small.",
		}, []string{"model", "version"}),
		users: map[version]int{},
		open:  map[*Batcher]struct{}{},
	}
	for _, c := range m.all() {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, registry.Register(m)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- oldestDesc
	ch <- runningDesc
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	oldest, running := map[version]time.Duration{}, map[version]time.Duration{}
	for _, b := range m.batchers() {
		v := version{b.cfg.Model, b.cfg.Version}
		waits, runs := b.ages(now)
		oldest[v], running[v] = max(oldest[v], waits), max(running[v], runs)
	}
	for v := range oldest {
		ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, oldest[v].Seconds(), v.model, v.number)
		ch <- prometheus.MustNewConstMetric(runningDesc, prometheus.GaugeValue, running[v].Seconds(), v.model, v.number)
	}
}

// Stalled says which model has had a batch running for longer than it may, if
// any has: a device that hangs gives no error.
func (m *Metrics) Stalled(limit time.Duration) error {
	now := time.Now()
	for _, b := range m.batchers() {
		if _, runs := b.ages(now); runs > limit {
			return failure.New(failure.Unavailable, "a batch of model %q has been running for %s", b.cfg.Model, runs.Round(time.Second))
		}
	}
	return nil
}

func (m *Metrics) batchers() []*Batcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.open))
}

// vector is what all metrics have in common.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

func (m *Metrics) all() []vector {
	return []vector{m.size, m.age, m.cuts, m.dropped, m.retried, m.limit}
}

// labelled are the metrics of one version.
type labelled struct {
	size    prometheus.Observer
	age     prometheus.Observer
	cuts    map[string]prometheus.Counter
	dropped map[string]prometheus.Counter
	retried map[string]prometheus.Counter
	limit   prometheus.Gauge
	// release drops the series when no other batcher of the version has them.
	// Only the first call counts.
	release func()
}

// hold makes every series of a version at once, so that a counter is there
// before the first time it counts.
func (m *Metrics) hold(b *Batcher) *labelled {
	model, number := b.cfg.Model, b.cfg.Version
	m.mu.Lock()
	defer m.mu.Unlock()
	v := version{model, number}
	m.users[v]++
	m.open[b] = struct{}{}
	l := &labelled{
		size:    m.size.WithLabelValues(model, number),
		age:     m.age.WithLabelValues(model, number),
		limit:   m.limit.WithLabelValues(model, number),
		cuts:    byReason(m.cuts, v, cutReasons),
		dropped: byReason(m.dropped, v, dropReasons),
		retried: byReason(m.retried, v, retryReasons),
	}
	l.release = sync.OnceFunc(func() { m.release(b, v) })
	return l
}

func byReason(counters *prometheus.CounterVec, v version, reasons []string) map[string]prometheus.Counter {
	found := make(map[string]prometheus.Counter, len(reasons))
	for _, reason := range reasons {
		found[reason] = counters.WithLabelValues(v.model, v.number, reason)
	}
	return found
}

func (m *Metrics) release(b *Batcher, v version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, b)
	if m.users[v]--; m.users[v] > 0 {
		return
	}
	delete(m.users, v)
	labels := prometheus.Labels{"model": v.model, "version": v.number}
	for _, metric := range m.all() {
		metric.DeletePartialMatch(labels)
	}
}

func (l *labelled) batch(w *work) {
	l.size.Observe(float64(w.rows))
	l.cuts[w.reason].Inc()
	for _, it := range w.members {
		l.age.Observe(it.waited.Seconds())
	}
}

func (l *labelled) drop(reason string) { l.dropped[reason].Inc() }
