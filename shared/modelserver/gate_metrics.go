package modelserver

import "github.com/prometheus/client_golang/prometheus"

// refusedFor is why a new version did not take the place of the old one, as a metric's label.
type refusedFor string

// The reasons.
const (
	refusedSignature refusedFor = "signature"  // other inputs or outputs
	refusedSamples   refusedFor = "samples"    // there is nothing usable to compare on
	refusedFailed    refusedFor = "failed"     // the new version fails where the old one answers
	refusedNotFinite refusedFor = "not_finite" // NaN or infinity where the old one has numbers
	refusedTop1      refusedFor = "top1"
	refusedDrift     refusedFor = "drift"
	refusedTimeout   refusedFor = "timeout"
)

// swapMetrics count what a release tool should alert on.
type swapMetrics struct {
	refused *prometheus.CounterVec
}

func newSwapMetrics(registerer prometheus.Registerer) (*swapMetrics, error) {
	m := &swapMetrics{refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "triptych_model_swap_refused_total",
		Help: "New versions that were compared with one that serves and refused, by reason.",
	}, []string{"model", "reason"})}
	return m, registerer.Register(m.refused)
}

func (m *swapMetrics) refuse(model string, reason refusedFor) {
	m.refused.WithLabelValues(model, string(reason)).Inc()
}

// forget drops the series of a model that is gone.
func (m *swapMetrics) forget(model string) {
	m.refused.DeletePartialMatch(prometheus.Labels{"model": model})
}
