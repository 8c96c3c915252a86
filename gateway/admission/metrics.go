package admission

import "github.com/prometheus/client_golang/prometheus"

// collector shows the room as metrics. No label takes its value from a caller.
type collector struct {
	admission                *Admission
	requests, bytes, refused *prometheus.Desc
}

func newCollector(a *Admission) *collector {
	return &collector{
		admission: a,
		requests:  prometheus.NewDesc("triptych_admission_requests_in_flight", "Admitted requests that are not answered yet.", []string{"door"}, nil),
		bytes:     prometheus.NewDesc("triptych_admission_bytes_in_flight", "Bytes for which admitted requests hold room.", []string{"door"}, nil),
		refused:   prometheus.NewDesc("triptych_admission_refused_total", "Requests that were not admitted, by what had no room.", []string{"door", "reason"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.requests
	out <- c.bytes
	out <- c.refused
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.admission.mu.Lock()
	doors := c.admission.doors
	c.admission.mu.Unlock()
	for i, d := range doors {
		out <- prometheus.MustNewConstMetric(c.requests, prometheus.GaugeValue, float64(d.requests), names[i])
		out <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(d.bytes), names[i])
		out <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(d.refusedRequests), names[i], "requests")
		out <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(d.refusedBytes), names[i], "bytes")
	}
}
