package feed

import (
	"github.com/prometheus/client_golang/prometheus"

	"triptych/shared/telemetry"
)

type metrics struct {
	leader    prometheus.Gauge
	flying    *prometheus.GaugeVec
	started   *prometheus.CounterVec
	lost      prometheus.Counter
	ended     *prometheus.CounterVec
	callbacks *prometheus.CounterVec
	collected *prometheus.CounterVec
}

func newMetrics(tel *telemetry.Telemetry) *metrics {
	m := &metrics{
		leader:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "triptych_jobs_leader", Help: "1 for the gateway that feeds jobs."}),
		flying:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "triptych_jobs_items_in_flight", Help: "Items of jobs that were started and have no verdict, by the model of the job; of the gateway that feeds."}, []string{"model"}),
		started:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triptych_jobs_items_started_total", Help: "Items of jobs that were started, by the model of the job; an item that is started again counts again."}, []string{"model"}),
		lost:      prometheus.NewCounter(prometheus.CounterOpts{Name: "triptych_jobs_items_lost_total", Help: "Items of jobs whose work was lost on its way, so that they were started again."}),
		ended:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triptych_jobs_ended_total", Help: "Jobs that ended, by how."}, []string{"state"}),
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triptych_jobs_callbacks_total", Help: "Calls of callbacks of jobs, by result: delivered, failed or given_up."}, []string{"result"}),
		collected: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "triptych_jobs_collected_total", Help: "What was deleted because nobody needs it any longer: jobs past their retention, verdicts, pages and blobs of no job, and what remained of pages of jobs that have ended."}, []string{"what"}),
	}
	for _, c := range []prometheus.Collector{m.leader, m.flying, m.started, m.lost, m.ended, m.callbacks, m.collected} {
		if err := tel.Registry.Register(c); err != nil {
			tel.Logger.Error("a metric of the feeding of jobs can't be registered", "error", err)
		}
	}
	return m
}
