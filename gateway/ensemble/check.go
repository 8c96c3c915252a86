package ensemble

import (
	"slices"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/pipeline"
)

// verdict is what the steps' configurations of one generation meant.
type verdict struct {
	generation uint64
	err        error
	backends   map[pipeline.Step]string // that run the steps
}

// check is the verdict on the steps as they are now.
func (m *model) check() *verdict {
	generation := m.steps.Generation()
	if v := m.checked.Load(); v != nil && v.generation == generation {
		return v
	}
	v := &verdict{generation: generation, backends: map[pipeline.Step]string{}}
	v.err = m.judge(v)
	m.checked.Store(v)
	return v
}

func (m *model) judge(v *verdict) error {
	var failed error
	steps := m.plan.Steps()
	configs := make([]*inference.ModelConfig, len(steps))
	for i, s := range steps {
		cfg, err := m.steps.Config(s.Model, s.Version)
		if err != nil && failed == nil {
			failed = failure.Prefix("step "+s.Model, err)
		}
		configs[i] = cfg
		v.backends[s] = modelconfig.BackendOf(cfg)
	}
	if failed != nil {
		return failed
	}
	if path := m.circle(m.config, []string{m.config.GetName()}, map[string]bool{}); path != nil {
		return failure.New(failure.Invalid, "ensembles call each other in a circle: %s", strings.Join(path, " > "))
	}
	return m.plan.Check(configs)
}

// circle follows the steps that are ensembles themselves, and gives the way by
// which one comes back to where it has been. What is in clean leads nowhere back.
func (m *model) circle(cfg *inference.ModelConfig, way []string, clean map[string]bool) []string {
	for _, s := range cfg.GetEnsembleScheduling().GetStep() {
		name := s.GetModelName()
		next := append(slices.Clone(way), name)
		if slices.Contains(way, name) {
			return next
		}
		inner, err := m.steps.Config(name, "")
		if err != nil || clean[name] {
			continue // one that is not there says so itself
		}
		if found := m.circle(inner, next, clean); found != nil {
			return found
		}
		clean[name] = true
	}
	return nil
}
