package modelserver

import (
	"path/filepath"
	"time"

	"triptych/proto/inference"
	"triptych/shared/modelconfig"
)

// gateSettings say how a new version is compared. They are those of the new
// version's configuration.
type gateSettings struct {
	on      bool
	timeout time.Duration
	// top1 is the least share of rows whose largest element stays the same one;
	// 0 sets no bound.
	top1 float64
	// abs and rel bound the drift of each configured output; nil sets no bound.
	abs, rel []float64
}

// readGate reads the parameters of the gate. Keys of others are left alone.
func readGate(cfg *inference.ModelConfig) (gateSettings, error) {
	p := modelconfig.NewParameters(cfg)
	s := gateSettings{
		on:      p.Word("gate", "on", "off") == "on",
		timeout: time.Duration(p.Int("gate_timeout_seconds", 60, 1, 3600)) * time.Second,
		top1:    p.Floats("gate_min_top1_agreement", 1, []float64{0})[0],
		abs:     bounds(p, cfg, "gate_max_abs_drift"),
		rel:     bounds(p, cfg, "gate_max_rel_drift"),
	}
	if s.top1 < 0 || s.top1 > 1 {
		p.Fail("gate_min_top1_agreement", "is %g, must be from 0 to 1", s.top1)
	}
	if folder := p.Text("gate_samples", ""); folder != "" && !filepath.IsLocal(folder) {
		p.Fail("gate_samples", "is %q, which leaves the model's folder", folder)
	}
	return s, p.Fault()
}

// bounds are a number for each output.
func bounds(p *modelconfig.Parameters, cfg *inference.ModelConfig, key string) []float64 {
	numbers := p.Floats(key, len(cfg.GetOutput()), nil)
	for _, n := range numbers {
		if n < 0 {
			p.Fail(key, "has %g, must be 0 or more", n)
		}
	}
	return numbers
}
