package worker

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
)

// What became of a task, beside the outcomes of its item.
const (
	outcomePassed = "passed" // what follows from it is stored
	outcomeStale  = "stale"  // its item had a verdict
	outcomeLost   = "lost"   // its tensors were gone
)

var outcomeDead = jobs.OutcomeName(pb.Outcome_OUTCOME_DEAD)

// Why a task was given back.
const (
	nakBusy   = "busy"   // the model, or what it leans on, has no room or is away
	nakFull   = "full"   // what follows could not be stored
	nakFailed = "failed" // an attempt failed
	nakAlone  = "alone"  // another task has to run alone
	nakStop   = "stop"   // the process ends
	nakBroken = "broken" // the worker broke on it
)

// metrics are those of all models of a door. Labels that are bounded only.
type metrics struct {
	door        *Door
	tasks       *prometheus.CounterVec
	naks        *prometheus.CounterVec
	fetches     *prometheus.CounterVec
	redelivered *prometheus.CounterVec
	waited      *prometheus.HistogramVec
}

var (
	fetchAgeDesc = prometheus.NewDesc("triptych_jobs_fetch_age_seconds", "Time since NATS last answered when it was asked for tasks.", []string{"model"}, nil)
	inFlightDesc = prometheus.NewDesc("triptych_jobs_in_flight", "Tasks that are held.", []string{"model"}, nil)
	slotsDesc    = prometheus.NewDesc("triptych_jobs_slots", "Tasks that may be held.", []string{"model"}, nil)
	allowedDesc  = prometheus.NewDesc("triptych_jobs_allowed", "Tasks that may run now: all slots, or the share while others call the service.", []string{"model"}, nil)
	stuckDesc    = prometheus.NewDesc("triptych_jobs_stuck", "Tasks whose answers can't be passed on now.", []string{"model"}, nil)
)

func newMetrics(registerer prometheus.Registerer, d *Door) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"model"}, labels...))
	}
	m := &metrics{
		door:        d,
		tasks:       counter("triptych_jobs_tasks_total", "Tasks that were done, by what became of them.", "outcome"),
		naks:        counter("triptych_jobs_naks_total", "Tasks that were given back, by reason.", "reason"),
		fetches:     counter("triptych_jobs_fetches_total", "Requests to NATS for tasks."),
		redelivered: counter("triptych_jobs_redelivered_total", "Tasks that had been delivered before."),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "triptych_jobs_wait_seconds", Help: "Time that a task lay in its queue.", Buckets: prometheus.ExponentialBuckets(.001, 4, 10),
		}, []string{"model"}),
	}
	var failed error
	for _, c := range []prometheus.Collector{m.tasks, m.naks, m.fetches, m.redelivered, m.waited, m} {
		failed = errors.Join(failed, registerer.Register(c))
	}
	return m, failed
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{fetchAgeDesc, inFlightDesc, slotsDesc, allowedDesc, stuckDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.door.each(func(p *puller) {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, p.model)
		}
		gauge(fetchAgeDesc, time.Since(time.Unix(0, p.answered.Load())).Seconds())
		gauge(inFlightDesc, float64(p.inFlight.Load()))
		gauge(slotsDesc, float64(p.lanes.slots))
		gauge(allowedDesc, float64(p.lanes.allowed()))
		gauge(stuckDesc, float64(p.stuck.Load()))
	})
}

// modelMetrics are the series of one model.
type modelMetrics struct {
	all         *metrics
	model       string
	fetches     prometheus.Counter
	redelivered prometheus.Counter
	waited      prometheus.Observer
}

func (m *metrics) of(model string) *modelMetrics {
	return &modelMetrics{
		all: m, model: model,
		fetches: m.fetches.WithLabelValues(model), redelivered: m.redelivered.WithLabelValues(model), waited: m.waited.WithLabelValues(model),
	}
}

// forget drops the series of a model that is gone.
func (m *metrics) forget(model string) {
	labels := prometheus.Labels{"model": model}
	m.tasks.DeletePartialMatch(labels)
	m.naks.DeletePartialMatch(labels)
	m.fetches.DeletePartialMatch(labels)
	m.redelivered.DeletePartialMatch(labels)
	m.waited.DeletePartialMatch(labels)
}

func (m *modelMetrics) task(outcome string) { m.all.tasks.WithLabelValues(m.model, outcome).Inc() }

func (m *modelMetrics) nak(reason string) { m.all.naks.WithLabelValues(m.model, reason).Inc() }
