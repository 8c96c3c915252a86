package simulator

import (
	"bytes"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// maxAnswer bounds an output, whose free dimensions a request sets.
const maxAnswer = 1 << 30

// lengthOfText is what an empty element of BYTES takes.
const lengthOfText = 4

// tensors are the outputs of a batch of n, in memory of their own.
func (d *device) tensors(inputs []oip.Tensor, n int64) ([]oip.Tensor, error) {
	outputs := make([]oip.Tensor, len(d.outputs))
	for i, out := range d.outputs {
		in, given := d.inputOf(i, inputs)
		outputs[i] = oip.Tensor{Name: out.GetName(), Datatype: oip.Datatype(out.GetDataType())}
		if d.echo && given {
			outputs[i].Shape, outputs[i].Data = slices.Clone(in.Shape), bytes.Clone(in.Data)
			continue
		}
		outputs[i].Shape = d.shape(out, in.Shape, n)
		data, err := d.zeros(outputs[i])
		if err != nil {
			return nil, err
		}
		outputs[i].Data = data
	}
	return outputs, nil
}

// inputOf is the input that stands where output i stands in the configuration,
// or else the first one, if the batch has it.
func (d *device) inputOf(i int, inputs []oip.Tensor) (oip.Tensor, bool) {
	if i >= len(d.inputs) {
		i = 0
	}
	for _, in := range inputs {
		if in.Name == d.inputs[i].GetName() {
			return in, true
		}
	}
	return oip.Tensor{}, false
}

// shape is an output's shape: its free dimensions are those of the input beside
// it, when that has as many, and else 1.
func (d *device) shape(out *inference.ModelOutput, beside []int64, n int64) []int64 {
	shape := slices.Clone(out.GetDims())
	if d.batching {
		shape = slices.Insert(shape, 0, n)
	}
	for i, dim := range shape {
		switch {
		case dim >= 0:
		case len(beside) == len(shape):
			shape[i] = beside[i]
		default:
			shape[i] = 1
		}
	}
	return shape
}

// zeros is the data of a tensor of zeros, or of empty texts.
func (d *device) zeros(t oip.Tensor) ([]byte, error) {
	size := int64(oip.Size(t.Datatype))
	if t.Datatype == oip.Bytes {
		size = lengthOfText
	}
	count, err := oip.Elements(t.Shape)
	if err != nil {
		return nil, failure.Prefix("output \""+t.Name+"\"", err)
	}
	if count > maxAnswer/size {
		return nil, failure.New(failure.TooLarge, "model %q: output %q would have the shape %s, which takes more than %d bytes", d.model, t.Name, oip.FormatShape(t.Shape), maxAnswer)
	}
	return make([]byte, count*size), nil
}
