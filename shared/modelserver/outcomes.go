package modelserver

import "github.com/prometheus/client_golang/prometheus"

// outcomes tell how the loads of each model ended: what an alert looks at, since a
// load that failed while the old version serves is seen nowhere else.
type outcomes struct {
	loads *prometheus.CounterVec
	last  *prometheus.GaugeVec
}

func newOutcomes(registerer prometheus.Registerer) (*outcomes, error) {
	o := &outcomes{
		loads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "triptych_model_loads_total", Help: "Loads of a model by outcome.",
		}, []string{"model", "outcome"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "triptych_model_load_failed", Help: "1 when the last load of the model failed, whatever serves.",
		}, []string{"model"}),
	}
	if err := registerer.Register(o.loads); err != nil {
		return nil, err
	}
	return o, registerer.Register(o.last)
}

func (o *outcomes) add(model string, err error) {
	outcome, failed := "ok", 0.0
	if err != nil {
		outcome, failed = "failed", 1
	}
	o.loads.WithLabelValues(model, outcome).Inc()
	o.last.WithLabelValues(model).Set(failed)
}

// forget drops the series of a model that is gone.
func (o *outcomes) forget(model string) {
	o.loads.DeletePartialMatch(prometheus.Labels{"model": model})
	o.last.DeleteLabelValues(model)
}
