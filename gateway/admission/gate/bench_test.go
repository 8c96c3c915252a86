package gate_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/admission/gate"
)

// BenchmarkGate is what a request that is let in costs, and one that is refused.
func BenchmarkGate(b *testing.B) {
	newGates := func(n int) *gate.Gates {
		cfg := gate.DefaultConfig()
		cfg.Limit.Fixed, cfg.MaxQueue = n, 0
		g, err := gate.New(cfg, prometheus.NewRegistry())
		if err != nil {
			b.Fatal(err)
		}
		p, err := g.Enter(b.Context(), "m")
		if err != nil {
			b.Fatal(err)
		}
		if n > 1 {
			p.Leave(nil)
		}
		return g
	}
	b.Run("let in", func(b *testing.B) {
		g := newGates(2)
		b.ReportAllocs()
		for b.Loop() {
			p, err := g.Enter(b.Context(), "m")
			if err != nil {
				b.Fatal(err)
			}
			p.Leave(nil)
		}
	})
	b.Run("refused", func(b *testing.B) {
		g := newGates(1)
		b.ReportAllocs()
		for b.Loop() {
			if g.Check(b.Context(), "m") == nil {
				b.Fatal("not refused")
			}
		}
	})
}
