package scrape

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// admissionWait is a histogram of the gateway: how long the requests for a model
// waited before they were let in.
const admissionWait = "triptych_admission_wait_seconds"

// waitsOf are the waits by model.
func waitsOf(family *dto.MetricFamily) map[string]span {
	waits := map[string]span{}
	for _, m := range family.GetMetric() {
		h := m.GetHistogram()
		if sum := h.GetSampleSum(); h == nil || math.IsNaN(sum) || sum < 0 || sum > maxWaits {
			continue
		}
		for _, label := range m.GetLabel() {
			if label.GetName() == "model" {
				waits[label.GetValue()] = span{int64(h.GetSampleCount()), time.Duration(h.GetSampleSum() * float64(time.Second))}
			}
		}
	}
	return waits
}

// maxWaits bounds a sum of seconds to what a Duration holds.
const maxWaits = 9e9

// addWaits tells the steps how long their requests waited at the gateways, by what
// these told both times.
func (u *Usage) addWaits(before, after []process) {
	waits := map[string]span{}
	for i, now := range after {
		if i >= len(before) || before[i].waits == nil || now.started != before[i].started {
			continue
		}
		for model, wait := range now.waits {
			waits[model] = waits[model].plus(wait.since(before[i].waits[model]))
		}
	}
	for i := range u.Steps {
		wait := waits[u.Steps[i].Model]
		u.Steps[i].Admitted, u.Steps[i].Waited = wait.count, wait.mean()
	}
}
