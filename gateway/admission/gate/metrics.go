package gate

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/admission/queue"
)

func newWaited() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "triptych_admission_wait_seconds", Help: "Time that admitted requests waited at the gateway for their turn.",
		Buckets: []float64{0, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
	}, []string{"model"})
}

// collector shows the gates as metrics. Models have labels when they have been seen
// to serve, tenants when they have a weight: no label is a caller's free text.
type collector struct {
	gates *Gates

	limit, inFlight, waiting, drain, service, baseline, gradient, crowd, refused, tenants *prometheus.Desc
}

func newCollector(g *Gates) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("triptych_admission_"+name, help, labels, nil)
	}
	return &collector{
		gates:    g,
		limit:    desc("limit", "Requests of a model that may be in work, without the swing of measuring.", "model"),
		inFlight: desc("in_flight", "Requests of a model that are in work.", "model"),
		waiting:  desc("waiting", "Requests that wait at the gateway for their turn.", "model", "level"),
		drain:    desc("drain_per_second", "Requests a second that are let to a model while others wait, as hints when to come back are computed from.", "model"),
		service:  desc("service_seconds", "Mean time that a model took, lately, from admission to answer.", "model"),
		baseline: desc("baseline_seconds", "Mean time that a model took when slightly less than the limit was in work, with which the time at slightly more is compared.", "model"),
		gradient: desc("gradient", "What the limit goes by: 0 when one more request in work is worked on at once, 1 when it only waits.", "model"),
		crowd:    desc("crowd", "Part of its time for which a request in work waits in the queues of the stages, by what they say.", "model"),
		refused:  desc("shed_total", "Requests that were not let to a model, by reason and level of priority.", "model", "reason", "level"),
		tenants:  desc("tenant_requests_total", "Requests by tenant (those with a weight; all others together) and what became of them.", "tenant", "outcome"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.limit, c.inFlight, c.waiting, c.drain, c.service, c.baseline, c.gradient, c.crowd, c.refused, c.tenants} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, g := range c.gates.seen() {
		c.gate(out, g)
	}
	account := func(name string, a *account) {
		out <- prometheus.MustNewConstMetric(c.tenants, prometheus.CounterValue, float64(a.admitted.Load()), name, "admitted")
		out <- prometheus.MustNewConstMetric(c.tenants, prometheus.CounterValue, float64(a.refused.Load()), name, "refused")
	}
	for name, a := range c.gates.tenants.named {
		account(name, a)
	}
	account(otherTenants, &c.gates.tenants.other)
}

// seen are the gates of models that have been seen to serve.
func (g *Gates) seen() (all []*gate) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, at := range g.gates {
		if at.known.Load() {
			all = append(all, at)
		}
	}
	return all
}

func (c *collector) gate(out chan<- prometheus.Metric, g *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.limit, g.limit.Centre(), g.model)
	gauge(c.inFlight, float64(g.flying), g.model)
	gauge(c.drain, g.drain(), g.model)
	gauge(c.service, g.pace.service, g.model)
	gauge(c.baseline, g.limit.Baseline().Seconds(), g.model)
	gauge(c.gradient, g.limit.Gradient(), g.model)
	gauge(c.crowd, g.limit.Crowd(), g.model)
	for level := 1; level <= queue.Levels; level++ {
		name := strconv.Itoa(level)
		gauge(c.waiting, float64(g.waiting.LenOf(level)), g.model, name)
		for r := full; r < reasons; r++ {
			if n := g.refused[r][level]; n > 0 {
				out <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(n), g.model, labels[r], name)
			}
		}
	}
}
