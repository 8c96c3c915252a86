package gauges

import "github.com/prometheus/client_golang/prometheus"

// collector shows the figures of now. Labels are models that have a queue, the
// three levels, and names that are fixed here.
type collector struct {
	gauges                            *Gauges
	up, dead, jobs, waiting           *prometheus.Desc
	pending, held, lag, redelivered   *prometheus.Desc
	oldest, storedBytes, storedAtMost *prometheus.Desc
}

func newCollector(g *Gauges) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &collector{
		gauges:       g,
		up:           desc("triptych_jobs_up", "1 when the queues of jobs could be read lately; 0, with all others absent, when NATS is away."),
		dead:         desc("triptych_jobs_dead_letters", "Dead letters that are kept."),
		jobs:         desc("triptych_jobs", "Jobs that are kept, by state.", "state"),
		waiting:      desc("triptych_jobs_items_undecided", "Items of open jobs that have no verdict yet."),
		pending:      desc("triptych_jobs_pending", "Tasks that wait for a worker.", "model", "level"),
		held:         desc("triptych_jobs_ack_pending", "Tasks that are with a worker, or wait for their next delivery.", "model", "level"),
		lag:          desc("triptych_jobs_lag", "Tasks that are not done: pending and ack_pending together.", "model", "level"),
		redelivered:  desc("triptych_jobs_redelivered", "Tasks that are not done and were delivered more than once.", "model", "level"),
		oldest:       desc("triptych_jobs_oldest_age_seconds", "For how long the oldest task that is not done has been in the queue.", "model"),
		storedBytes:  desc("triptych_jobs_stored_bytes", "Bytes that are kept in files.", "store"),
		storedAtMost: desc("triptych_jobs_stored_limit_bytes", "The most bytes that may be kept there.", "store"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.up, c.dead, c.jobs, c.waiting, c.pending, c.held, c.lag, c.redelivered, c.oldest, c.storedBytes, c.storedAtMost,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	f := c.gauges.present()
	if f == nil {
		send(c.up, 0)
		return
	}
	send(c.up, 1)
	send(c.dead, float64(f.dead))
	for _, q := range f.queues {
		send(c.pending, float64(q.pending), q.model, q.level)
		send(c.held, float64(q.held), q.model, q.level)
		send(c.lag, float64(q.pending+q.held), q.model, q.level)
		send(c.redelivered, float64(q.redelivered), q.model, q.level)
	}
	for _, m := range f.models {
		send(c.oldest, m.oldest.Seconds(), m.name)
	}
	for _, s := range f.stores {
		send(c.storedBytes, s.bytes, s.name)
		send(c.storedAtMost, s.limit, s.name)
	}
	if f.states == nil {
		return
	}
	send(c.waiting, float64(f.states.waiting))
	for state, n := range f.states.jobs {
		send(c.jobs, float64(n), state)
	}
}
