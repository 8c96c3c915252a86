package engine

import (
	"fmt"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// tensor is an input or output on which configuration and model file agree.
type tensor struct {
	name     string
	datatype inference.DataType
	// wire is the shape that callers see, inner the one that the model has;
	// they differ by the configuration's reshape. -1 is free, the batch
	// dimension too.
	wire, inner []int64
	reshaped    bool
}

// inside is the model's shape for one that a caller sent.
func (t tensor) inside(shape []int64) ([]int64, error) {
	if !t.reshaped {
		return shape, nil
	}
	return replace(shape, t.wire, t.inner)
}

// outside is the callers' shape of an output that is known once the batch is.
func (t tensor) outside(batch int64) ([]int64, error) {
	if !t.reshaped {
		return concrete(t.wire, batch), nil
	}
	return replace(concrete(t.inner, batch), t.inner, t.wire)
}

// contract is what a session takes and gives.
type contract struct {
	batching        bool
	inputs, outputs []tensor
	limit           int64 // bytes that an output must stay below
}

// agree holds a configuration against a model file.
func agree(cfg *inference.ModelConfig, g *graph) (*contract, error) {
	c := &contract{batching: cfg.GetMaxBatchSize() > 0, limit: maxBytes}
	for i, in := range cfg.GetInput() {
		if err := plainInput(cfg, in); err != nil {
			return nil, modelconfig.Blame(err, "input", i, "")
		}
		t, err := agreeOn(cfg, "input", i, 1, in, in.GetReshape(), g.inputs)
		if err != nil {
			return nil, err
		}
		c.inputs = append(c.inputs, t)
	}
	for _, p := range g.inputs {
		if !hasTensor(c.inputs, p.name) {
			err := failure.New(failure.Invalid, "model %q: the configuration lacks input %q, the model has %s", cfg.GetName(), p.name, names(g.inputs))
			return nil, modelconfig.Blame(err, "input", 0, "")
		}
	}
	for i, out := range cfg.GetOutput() {
		if out.GetIsShapeTensor() {
			return nil, failure.New(failure.Unsupported, "model %q: output %q: is_shape_tensor is for TensorRT plans", cfg.GetName(), out.GetName())
		}
		t, err := agreeOn(cfg, "output", i, max(int64(cfg.GetMaxBatchSize()), 1), out, out.GetReshape(), g.outputs)
		if err != nil {
			return nil, err
		}
		if err := readable(cfg, t); err != nil {
			return nil, modelconfig.Blame(err, "output", i, "dims")
		}
		c.outputs = append(c.outputs, t)
	}
	if len(c.outputs) == 0 {
		return nil, failure.New(failure.Invalid, "model %q: the configuration has no output, the model has %s", cfg.GetName(), names(g.outputs))
	}
	return c, nil
}

// plainInput refuses what the runtime has no counterpart for.
func plainInput(cfg *inference.ModelConfig, in *inference.ModelInput) error {
	for what, set := range map[string]bool{"optional": in.GetOptional(), "allow_ragged_batch": in.GetAllowRaggedBatch(), "is_shape_tensor": in.GetIsShapeTensor()} {
		if set {
			return failure.New(failure.Unsupported, "model %q: input %q: %s is not supported for ONNX models", cfg.GetName(), in.GetName(), what)
		}
	}
	return nil
}

// readable refuses the one kind of output that the Go binding can't read: it
// copies half of what the runtime allocates for elements of 2 bytes without a
// Go type.
func readable(cfg *inference.ModelConfig, t tensor) error {
	narrow := t.datatype == inference.DataType_TYPE_FP16 || t.datatype == inference.DataType_TYPE_BF16
	if narrow && !t.preallocated(cfg.GetMaxBatchSize() > 0) {
		return failure.New(failure.Unsupported, "model %q: output %q is %s, whose free dimensions can't be read: give all its dims in the configuration", cfg.GetName(), t.name, describe(t.datatype, t.inner))
	}
	return nil
}

// configured is what inputs and outputs of a configuration have in common.
type configured interface {
	GetName() string
	GetDataType() inference.DataType
	GetDims() []int64
}

// agreeOn wants a tensor that the model has and that is affordable in a batch.
func agreeOn(cfg *inference.ModelConfig, what string, index int, batch int64, c configured, reshape *inference.ModelTensorReshape, ports []port) (tensor, error) {
	where := fmt.Sprintf("model %q: %s %q", cfg.GetName(), what, c.GetName())
	p, ok := find(ports, c.GetName())
	if !ok {
		return tensor{}, modelconfig.Blame(failure.New(failure.Invalid, "%s is not in the model, which has %s", where, names(ports)), what, index, "name")
	}
	t := tensor{name: p.name, datatype: c.GetDataType(), wire: oip.WireShape(cfg.GetMaxBatchSize(), c.GetDims())}
	t.inner = t.wire
	if reshape != nil {
		t.inner, t.reshaped = oip.WireShape(cfg.GetMaxBatchSize(), reshape.GetShape()), true
	}
	if err := t.affordable(where, cfg.GetMaxBatchSize() > 0, batch); err != nil {
		return t, modelconfig.Blame(err, what, index, "dims")
	}
	if reshape != nil {
		if _, err := replace(t.wire, t.wire, t.inner); err != nil || fixedElements(t.wire) != fixedElements(t.inner) {
			err := failure.New(failure.Invalid, "%s: reshape from %s to %s changes the number of elements", where, oip.FormatShape(t.wire), oip.FormatShape(t.inner))
			return t, modelconfig.Blame(err, what, index, "reshape")
		}
	}
	if cfg.GetMaxBatchSize() > 0 && len(p.shape) > 0 && p.shape[0] >= 0 {
		err := failure.New(failure.Invalid, "%s: max_batch_size is %d, but the model's first dimension is fixed at %d (%s), so that it can't batch: set max_batch_size to 0 and give all dims", where, cfg.GetMaxBatchSize(), p.shape[0], p)
		return t, modelconfig.Blame(err, "max_batch_size", 0, "")
	}
	if t.datatype != p.datatype || !compatible(t.inner, p.shape) {
		err := failure.New(failure.Invalid, "%s: config says %s, model says %s%s", where, describe(t.datatype, t.inner), p, rankHint(cfg, t, p))
		if t.datatype != p.datatype {
			return t, modelconfig.Blame(err, what, index, "data_type")
		}
		return t, modelconfig.Blame(err, what, index, "dims")
	}
	return t, nil
}

// rankHint names the usual reason for one dimension too many or too few.
func rankHint(cfg *inference.ModelConfig, t tensor, p port) string {
	switch batching := cfg.GetMaxBatchSize() > 0; {
	case batching && len(t.inner) == len(p.shape)+1:
		return ": dims never hold the batch dimension"
	case !batching && len(t.inner)+1 == len(p.shape):
		return ": without a max_batch_size, dims are all dimensions of the model"
	default:
		return ""
	}
}

// compatible tells whether the configuration's shape is one that the model can
// have: a free dimension of the model fits any, and no shape at all fits all.
func compatible(want, model []int64) bool {
	if len(model) == 0 {
		return true
	}
	if len(want) != len(model) {
		return false
	}
	for i, d := range model {
		if d >= 0 && d != want[i] {
			return false
		}
	}
	return true
}

// preallocated tells whether the output's shape is known once the batch is, so
// that the run can write straight into the answer's memory.
func (t tensor) preallocated(batching bool) bool {
	return t.datatype != inference.DataType_TYPE_STRING && len(t.inner) > 0 && !free(t.inner, batching)
}

func hasTensor(tensors []tensor, name string) bool {
	for _, t := range tensors {
		if t.name == name {
			return true
		}
	}
	return false
}

func tensorNames(tensors []tensor) []string {
	list := make([]string, 0, len(tensors))
	for _, t := range tensors {
		list = append(list, t.name)
	}
	return list
}

// replace gives the shape "to" the actual values that "from" has in actual: the
// n-th free dimension of one is the n-th of the other.
func replace(actual, from, to []int64) ([]int64, error) {
	shape := append([]int64{}, to...)
	next := 0
	for i, d := range from {
		if d >= 0 {
			continue
		}
		for next < len(to) && to[next] >= 0 {
			next++
		}
		if next == len(to) {
			return nil, failure.New(failure.Internal, "shape %s has too many free dimensions for %s", oip.FormatShape(from), oip.FormatShape(to))
		}
		shape[next] = actual[i]
		next++
	}
	for ; next < len(to); next++ {
		if to[next] < 0 {
			return nil, failure.New(failure.Internal, "shape %s has too few free dimensions for %s", oip.FormatShape(from), oip.FormatShape(to))
		}
	}
	return shape, nil
}

// fixedElements multiplies the dimensions that are not free.
func fixedElements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if d >= 0 {
			n *= d
		}
	}
	return n
}
