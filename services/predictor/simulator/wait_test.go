package simulator_test

import (
	"slices"
	"testing"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/services/predictor/simulator"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// No batch is faster than was asked for, and most are not a millisecond slower.
// How much slower is measured by BenchmarkLateness; a shared machine can promise
// nothing.
func TestTheTimeIsKept(t *testing.T) {
	m, err := loadBy(t, simulator.Config{MaxQueueSize: 1}, plain)
	if err != nil {
		t.Fatal(err)
	}
	var late []time.Duration
	for range 41 {
		d, err := took(t.Context(), m, rows(1))
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, d-5150*time.Microsecond)
	}
	slices.Sort(late)
	if late[0] < 0 || late[len(late)/2] > time.Millisecond {
		t.Errorf("late by %s to %s, the half by less than %s", late[0], late[len(late)-1], late[len(late)/2])
	}
}

// BenchmarkLateness tells by how much a request that is alone takes longer than
// its batch, batcher included: by the backend's own clock and by Go's timers.
func BenchmarkLateness(b *testing.B) {
	for name, goTimers := range map[string]bool{"own clock": false, "Go timers": true} {
		b.Run(name, func(b *testing.B) {
			cfg, err := modelconfig.ParseText("config.pbtxt", []byte(plain))
			if err != nil {
				b.Fatal(err)
			}
			tel := telemetry.Discard()
			metrics, err := batcher.NewMetrics(tel.Registry)
			if err != nil {
				b.Fatal(err)
			}
			m, err := simulator.NewBackend(simulator.Config{MaxQueueSize: 1, GoTimers: goTimers}, tel, metrics).Load(b.Context(), modelserver.Spec{Config: cfg, Version: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			var late []time.Duration
			for b.Loop() {
				d, err := took(b.Context(), m, rows(1))
				if err != nil {
					b.Fatal(err)
				}
				late = append(late, d-5150*time.Microsecond)
			}
			slices.Sort(late)
			for unit, at := range map[string]int{"us-late-p50": 50, "us-late-p90": 90, "us-late-p99": 99} {
				b.ReportMetric(float64(late[(len(late)-1)*at/100].Nanoseconds())/1e3, unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
