package jobs

import (
	"strconv"
	"sync"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/pipeline"
)

// maxPlans bounds the plans that are kept compiled; beyond it all are forgotten.
const maxPlans = 256

// plans are compiled plans by the bytes that travel. Safe for concurrent use.
type plans struct {
	mu    sync.Mutex
	known map[string]*pipeline.Plan
}

func newPlans() *plans { return &plans{known: map[string]*pipeline.Plan{}} }

func (p *plans) get(data []byte) (*pipeline.Plan, error) {
	p.mu.Lock()
	plan := p.known[string(data)]
	p.mu.Unlock()
	if plan != nil {
		return plan, nil
	}
	var cfg inference.ModelConfig
	if err := proto.Unmarshal(data, &cfg); err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the plan of a job can't be read")
	}
	plan, err := pipeline.Compile(&cfg)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxPlans {
		clear(p.known)
	}
	p.known[string(data)] = plan
	return plan, nil
}

// Plan compiles the plan that a job or a task carries.
func (s *Store) Plan(data []byte) (*pipeline.Plan, error) { return s.plans.get(data) }

// PlanOf is the plan of a model as jobs carry it: an ensemble's own graph, or one
// step for any other model.
func PlanOf(cfg *inference.ModelConfig, version string) ([]byte, error) {
	plan := &inference.ModelConfig{Name: cfg.GetName(), Input: cfg.GetInput(), Output: cfg.GetOutput(), MaxBatchSize: cfg.GetMaxBatchSize()}
	scheduling := cfg.GetEnsembleScheduling()
	if modelconfig.BackendOf(cfg) != modelconfig.EnsemblePlatform {
		step, err := oneStep(cfg, version)
		if err != nil {
			return nil, err
		}
		scheduling = &inference.ModelEnsembling{Step: []*inference.ModelEnsembling_Step{step}}
	}
	plan.SchedulingChoice = &inference.ModelConfig_EnsembleScheduling{EnsembleScheduling: scheduling}
	if _, err := pipeline.Compile(plan); err != nil {
		return nil, err
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(plan)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the plan of model %q can't be written", cfg.GetName())
	}
	return data, nil
}

// oneStep is the step of a model that is no ensemble: its tensors keep their names.
func oneStep(cfg *inference.ModelConfig, version string) (*inference.ModelEnsembling_Step, error) {
	step := &inference.ModelEnsembling_Step{ModelName: cfg.GetName(), ModelVersion: -1, InputMap: map[string]string{}, OutputMap: map[string]string{}}
	if version != "" {
		n, err := strconv.ParseInt(version, 10, 64)
		if err != nil || n < 1 {
			return nil, failure.New(failure.Invalid, "the version %s of model %q is no number", failure.Quote(version), cfg.GetName())
		}
		step.ModelVersion = n
	}
	for _, in := range cfg.GetInput() {
		step.InputMap[in.GetName()] = in.GetName()
	}
	for _, out := range cfg.GetOutput() {
		step.OutputMap[out.GetName()] = out.GetName()
	}
	return step, nil
}
