package upstream

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// again asks the budget for leave to make a call a second time, and counts it.
func (p *pool) again(counter *atomic.Int64) bool {
	if !p.budget.Take() {
		p.denied.Add(1)
		return false
	}
	counter.Add(1)
	return true
}

// collector shows how calls are spread. A replica that is gone is shown no more, so
// that there are never more series than replicas.
type collector struct {
	fleet                               *Fleet
	picks, left, returns, out, calls    *prometheus.Desc
	retries, hedges, won, denied, spare *prometheus.Desc
}

func newCollector(f *Fleet) *collector {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("triptych_upstream_"+name, help, append([]string{"upstream"}, labels...), nil)
	}
	return &collector{
		fleet:   f,
		picks:   of("picks_total", "Calls that were sent to a replica.", "replica"),
		calls:   of("calls_in_flight", "Calls that run at a replica.", "replica"),
		left:    of("ejections_total", "How often a replica was left: silent, failing (in a row), often (far more than others).", "replica", "reason"),
		returns: of("returns_total", "How often a replica came back.", "replica"),
		out:     of("ejected", "1 for a replica that gets no calls now.", "replica"),
		retries: of("retries_total", "Calls that were made again elsewhere, for the first replica had not begun them."),
		hedges:  of("hedges_total", "Calls that were made at a second replica while the first had not answered."),
		won:     of("hedges_won_total", "Those of them that were answered first."),
		denied:  of("retries_denied_total", "Calls that were not made again, for the retry budget was used up."),
		spare:   of("retry_budget", "How many calls may be made again now."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.picks, c.left, c.returns, c.out, c.calls, c.retries, c.hedges, c.won, c.denied, c.spare} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	shown := map[string]bool{}
	for _, p := range c.fleet.pools {
		if shown[p.name] {
			continue // an address that is given twice
		}
		shown[p.name] = true
		counter(c.retries, p.retries.Load(), p.name)
		counter(c.hedges, p.hedges.Load(), p.name)
		counter(c.won, p.hedgesWon.Load(), p.name)
		counter(c.denied, p.denied.Load(), p.name)
		gauge(c.spare, float64(p.budget.Left()), p.name)
		for _, r := range p.current() {
			counter(c.picks, r.picks.Load(), p.name, r.address)
			counter(c.returns, r.returns.Load(), p.name, r.address)
			for i, reason := range reasons {
				counter(c.left, r.left[i].Load(), p.name, r.address, reason)
			}
			gauge(c.calls, float64(r.calls.Load()), p.name, r.address)
			ejected := 0.
			if r.standing.Out() {
				ejected = 1
			}
			gauge(c.out, ejected, p.name, r.address)
		}
	}
}
