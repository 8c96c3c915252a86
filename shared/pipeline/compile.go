package pipeline

import (
	"maps"
	"slices"
	"strconv"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Plan is the compiled graph of an ensemble: steps that run when their inputs are
// there. It never changes, so many requests may run it at once.
type Plan struct {
	config *inference.ModelConfig
	steps  []step
}

// step is one call of a model.
type step struct {
	model   string
	version string // empty means the latest
	inputs  []binding
	outputs []binding
	after   []int // the steps whose outputs it needs
}

// binding joins a tensor of a step's model with a tensor of the ensemble.
type binding struct {
	tensor string // by the step's name for it
	pool   string // by the ensemble's name for it
}

// maxSteps bounds an ensemble: real ones have a handful, and each request looks
// at all of them whenever a step ends.
const maxSteps = 128

// Compile checks the graph of an ensemble's configuration: every tensor has one
// source and every step can run. An error is Invalid and names the step and the
// tensor. What the steps' models want is not looked at: see Plan.Check.
func Compile(cfg *inference.ModelConfig) (*Plan, error) {
	if n := len(cfg.GetEnsembleScheduling().GetStep()); n > maxSteps {
		return nil, failure.New(failure.Invalid, "the ensemble has %d steps, at most %d are allowed", n, maxSteps)
	}
	p := &Plan{config: cfg}
	for _, s := range cfg.GetEnsembleScheduling().GetStep() {
		if s.GetModelNamespace() != "" {
			return nil, failure.New(failure.Unsupported, "step %q: model_namespace is not supported", s.GetModelName())
		}
		compiled := step{model: s.GetModelName(), inputs: bindings(s.GetInputMap()), outputs: bindings(s.GetOutputMap())}
		if s.GetModelVersion() > 0 {
			compiled.version = strconv.FormatInt(s.GetModelVersion(), 10)
		}
		p.steps = append(p.steps, compiled)
	}
	sources, err := p.sources()
	if err != nil {
		return nil, err
	}
	if err := p.connect(sources); err != nil {
		return nil, err
	}
	if err := p.checkCycles(); err != nil {
		return nil, err
	}
	return p, nil
}

func bindings(m map[string]string) []binding {
	list := make([]binding, 0, len(m))
	for _, tensor := range slices.Sorted(maps.Keys(m)) {
		list = append(list, binding{tensor: tensor, pool: m[tensor]})
	}
	return list
}

// fromRequest is the source of what the caller gives.
const fromRequest = -1

// sources finds what makes each tensor of the ensemble: a step, or the request.
func (p *Plan) sources() (map[string]int, error) {
	sources := map[string]int{}
	for _, in := range p.config.GetInput() {
		sources[in.GetName()] = fromRequest
	}
	for i, s := range p.steps {
		for _, b := range s.outputs {
			first, taken := sources[b.pool]
			if taken && first == fromRequest {
				return nil, failure.New(failure.Invalid, "step %q writes the tensor %q, which is an input of the ensemble", s.model, b.pool)
			}
			if taken {
				return nil, failure.New(failure.Invalid, "the tensor %q is written by step %q and by step %q", b.pool, p.steps[first].model, s.model)
			}
			sources[b.pool] = i
		}
	}
	return sources, nil
}

func (p *Plan) connect(sources map[string]int) error {
	used := map[string]bool{}
	for i := range p.steps {
		s := &p.steps[i]
		for _, b := range s.inputs {
			from, ok := sources[b.pool]
			if !ok {
				return failure.New(failure.Invalid, "step %q wants the tensor %q for its input %q, but no step gives it and it is no input of the ensemble", s.model, b.pool, b.tensor)
			}
			used[b.pool] = true
			if from != fromRequest && !slices.Contains(s.after, from) {
				s.after = append(s.after, from)
			}
		}
	}
	for _, out := range p.config.GetOutput() {
		if from, ok := sources[out.GetName()]; !ok || from == fromRequest {
			return failure.New(failure.Invalid, "no step gives the output %q of the ensemble", out.GetName())
		}
	}
	for _, in := range p.config.GetInput() {
		if !used[in.GetName()] {
			return failure.New(failure.Invalid, "no step takes the input %q of the ensemble", in.GetName())
		}
	}
	return nil
}

// Step names a model that a plan calls; Version is empty for the latest.
type Step struct{ Model, Version string }

// Steps lists the models that the plan calls, in the order of the configuration.
func (p *Plan) Steps() []Step {
	steps := make([]Step, len(p.steps))
	for i, s := range p.steps {
		steps[i] = Step{s.model, s.version}
	}
	return steps
}
