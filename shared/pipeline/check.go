package pipeline

import (
	"maps"
	"slices"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// typed is a tensor of the ensemble as one side knows it.
type typed struct {
	who   string
	kind  inference.DataType
	shape []int64 // on the wire; -1 is free
	// optional tensors may be left out by the caller.
	optional bool
}

// Check holds the graph against the configurations of the models that it calls,
// one for each of Steps: names, datatypes, wire shapes and batch sizes must fit.
// An error is Invalid and names both sides.
func (p *Plan) Check(configs []*inference.ModelConfig) error {
	pool := map[string]typed{}
	batch := p.config.GetMaxBatchSize()
	for _, in := range p.config.GetInput() {
		pool[in.GetName()] = typed{"the ensemble's input", in.GetDataType(), oip.WireShape(batch, in.GetDims()), in.GetOptional()}
	}
	for i, s := range p.steps {
		if most := configs[i].GetMaxBatchSize(); batch > 0 && most < batch {
			return failure.New(failure.Invalid, "the ensemble has max_batch_size %d, but step %q takes %d", batch, s.model, most)
		}
		for _, b := range s.outputs {
			t, err := s.output(b, configs[i])
			if err != nil {
				return err
			}
			pool[b.pool] = t
		}
	}
	for i, s := range p.steps {
		if err := s.checkInputs(configs[i], pool); err != nil {
			return err
		}
	}
	return p.checkOutputs(pool)
}

func (s step) output(b binding, cfg *inference.ModelConfig) (typed, error) {
	var names []string
	for _, out := range cfg.GetOutput() {
		if out.GetName() == b.tensor {
			return typed{who: "step " + s.model, kind: out.GetDataType(), shape: oip.WireShape(cfg.GetMaxBatchSize(), out.GetDims())}, nil
		}
		names = append(names, out.GetName())
	}
	return typed{}, failure.New(failure.Invalid, "step %q has no output %q, it has %s", s.model, b.tensor, strings.Join(names, ", "))
}

func (s step) checkInputs(cfg *inference.ModelConfig, pool map[string]typed) error {
	bound := map[string]string{}
	for _, b := range s.inputs {
		bound[b.tensor] = b.pool
	}
	var names []string
	for _, in := range cfg.GetInput() {
		names = append(names, in.GetName())
		from, ok := bound[in.GetName()]
		if !ok {
			if in.GetOptional() {
				continue
			}
			return failure.New(failure.Invalid, "step %q wants the input %q, which its input_map leaves out", s.model, in.GetName())
		}
		delete(bound, in.GetName())
		want := typed{"step " + s.model, in.GetDataType(), oip.WireShape(cfg.GetMaxBatchSize(), in.GetDims()), in.GetOptional()}
		if err := fit(from, pool[from], want); err != nil {
			return err
		}
		if pool[from].optional && !want.optional {
			return failure.New(failure.Invalid, "tensor %q: %s may be left out, but %s needs it", from, pool[from].who, want.who)
		}
	}
	for _, tensor := range slices.Sorted(maps.Keys(bound)) {
		return failure.New(failure.Invalid, "step %q has no input %q, it has %s", s.model, tensor, strings.Join(names, ", "))
	}
	return nil
}

func (p *Plan) checkOutputs(pool map[string]typed) error {
	for _, out := range p.config.GetOutput() {
		want := typed{who: "the ensemble's output", kind: out.GetDataType(), shape: oip.WireShape(p.config.GetMaxBatchSize(), out.GetDims())}
		if err := fit(out.GetName(), pool[out.GetName()], want); err != nil {
			return err
		}
	}
	return nil
}

func fit(tensor string, have, want typed) error {
	if have.kind != want.kind {
		return failure.New(failure.Invalid, "tensor %q: %s gives %s, %s wants %s", tensor, have.who, oip.Datatype(have.kind), want.who, oip.Datatype(want.kind))
	}
	mismatch := len(have.shape) != len(want.shape)
	for i := 0; !mismatch && i < len(have.shape); i++ {
		mismatch = have.shape[i] >= 0 && want.shape[i] >= 0 && have.shape[i] != want.shape[i]
	}
	if mismatch {
		return failure.New(failure.Invalid, "tensor %q: %s gives the shape %s, %s wants %s", tensor, have.who, oip.FormatShape(have.shape), want.who, oip.FormatShape(want.shape))
	}
	return nil
}
