package predictor

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// providers is the metric of what runs the loaded versions. A version that is
// loaded again counts twice for as long as the old one has requests.
type providers struct {
	gauge *prometheus.GaugeVec

	mu     sync.Mutex
	loaded map[[4]string]int // by the values of the labels
}

func newProviders(registry prometheus.Registerer) (*providers, error) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "triptych_execution_provider", Help: "Loaded versions by the device that was asked for and the provider that runs them.",
	}, []string{"model", "version", "requested", "actual"})
	if err := registry.Register(gauge); err != nil {
		return nil, err
	}
	return &providers{gauge: gauge, loaded: map[[4]string]int{}}, nil
}

// add counts a version until forget is called. The last one takes the series
// with it. Calls of forget after the first do nothing.
func (p *providers) add(model, version, requested, actual string) (forget func()) {
	labels := [4]string{model, version, requested, actual}
	p.change(labels, 1)
	return sync.OnceFunc(func() { p.change(labels, -1) })
}

func (p *providers) change(labels [4]string, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded[labels] += by
	if p.loaded[labels] == 0 {
		delete(p.loaded, labels)
		p.gauge.DeleteLabelValues(labels[:]...)
		return
	}
	p.gauge.WithLabelValues(labels[:]...).Set(float64(p.loaded[labels]))
}
