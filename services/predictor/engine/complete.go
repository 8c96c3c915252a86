package engine

import (
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// defaultMaxBatchSize is what a model gets that can batch and does not say how
// much. It is Triton's number.
const defaultMaxBatchSize = 4

// Complete fills in what a configuration leaves out, from the model file in
// directory: inputs, outputs, max_batch_size and a scheduler, by Triton's
// rules. A configuration that has both inputs and outputs is left alone.
func (l *Library) Complete(cfg *inference.ModelConfig, directory string) error {
	if len(cfg.GetInput()) > 0 && len(cfg.GetOutput()) > 0 {
		return nil
	}
	file, err := modelFile(cfg, directory)
	if err != nil {
		return err
	}
	g, err := readGraph(cfg, file)
	if err != nil {
		return err
	}
	if err := g.shaped(cfg); err != nil {
		return err
	}
	if err := completeBatching(cfg, g); err != nil {
		return err
	}
	skip := 0
	if cfg.GetMaxBatchSize() > 0 {
		skip = 1 // dims never hold the batch dimension
	}
	if len(cfg.GetInput()) == 0 {
		for _, p := range g.inputs {
			in := &inference.ModelInput{Name: p.name, DataType: p.datatype}
			in.Dims, in.Reshape = dims(p.shape[skip:])
			cfg.Input = append(cfg.Input, in)
		}
	}
	if len(cfg.GetOutput()) == 0 {
		for _, p := range g.outputs {
			out := &inference.ModelOutput{Name: p.name, DataType: p.datatype}
			out.Dims, out.Reshape = dims(p.shape[skip:])
			cfg.Output = append(cfg.Output, out)
		}
	}
	return nil
}

// shaped refuses a file that does not say the shapes of its tensors.
func (g *graph) shaped(cfg *inference.ModelConfig) error {
	for _, p := range append(append([]port{}, g.inputs...), g.outputs...) {
		if len(p.shape) == 0 {
			return failure.New(failure.Invalid, "model %q: the file does not say the shape of %q: give input and output in the configuration", cfg.GetName(), p.name)
		}
	}
	return nil
}

// batches tells whether every tensor has a free first dimension.
func (g *graph) batches() bool {
	for _, p := range append(append([]port{}, g.inputs...), g.outputs...) {
		if p.shape[0] >= 0 {
			return false
		}
	}
	return true
}

// leavesOut tells whether the tensors that are given, if any, leave out the batch
// dimension, as those of a configuration with a max_batch_size do.
func leavesOut[T interface {
	GetName() string
	GetDims() []int64
	GetReshape() *inference.ModelTensorReshape
}](given []T, ports []port) bool {
	for _, t := range given {
		dims := t.GetDims()
		if r := t.GetReshape(); r != nil {
			dims = r.GetShape()
		}
		if p, ok := find(ports, t.GetName()); ok && len(dims) >= len(p.shape) {
			return false
		}
	}
	return true
}

func completeBatching(cfg *inference.ModelConfig, g *graph) error {
	if !g.batches() {
		if n := cfg.GetMaxBatchSize(); n > 0 {
			err := failure.New(failure.Invalid, "model %q: max_batch_size is %d, but the model has a tensor whose first dimension is fixed, so that it can't batch", cfg.GetName(), n)
			return modelconfig.Blame(err, "max_batch_size", 0, "")
		}
		return nil
	}
	if cfg.GetMaxBatchSize() == 0 && leavesOut(cfg.GetInput(), g.inputs) && leavesOut(cfg.GetOutput(), g.outputs) {
		cfg.MaxBatchSize = defaultMaxBatchSize
	}
	if cfg.GetMaxBatchSize() > 1 && cfg.GetSchedulingChoice() == nil {
		cfg.SchedulingChoice = &inference.ModelConfig_DynamicBatching{DynamicBatching: &inference.ModelDynamicBatching{}}
	}
	return nil
}

// dims of a tensor that has none beside the batch are one element, which a
// reshape takes away again, for dims must not be empty.
func dims(shape []int64) ([]int64, *inference.ModelTensorReshape) {
	if len(shape) == 0 {
		return []int64{1}, &inference.ModelTensorReshape{}
	}
	return append([]int64{}, shape...), nil
}
