package postprocess

import (
	"encoding/binary"
	"math"

	"triptych/proto/inference"
	"triptych/services/postprocess/classification"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// content is what an output holds of each pick. The datatype decides.
type content int

const (
	labels  content = iota + 1 // TYPE_STRING
	scores                     // TYPE_FP32
	classes                    // TYPE_INT32
)

// output is one output of a model's configuration.
type output struct {
	name      string
	datatype  string
	holds     content
	labelFile string
	ones      int   // dimensions of 1 before that of the picks
	topK      int64 // the last dimension, -1 when it is free
}

func readOutputs(cfg *inference.ModelConfig) ([]output, error) {
	if len(cfg.GetOutput()) == 0 {
		return nil, failure.New(failure.Invalid, "has no output, a classification model has labels (TYPE_STRING), scores (TYPE_FP32) or classes (TYPE_INT32)")
	}
	outputs := make([]output, 0, len(cfg.GetOutput()))
	for _, o := range cfg.GetOutput() {
		out, err := readOutput(o)
		if err != nil {
			return nil, err
		}
		for _, other := range outputs {
			if other.holds == out.holds {
				return nil, failure.New(failure.Invalid, "outputs %q and %q both have data_type %s", other.name, out.name, o.GetDataType())
			}
			if other.topK > 0 && out.topK > 0 && other.topK != out.topK {
				return nil, failure.New(failure.Invalid, "output %q has dims for %d classes, but output %q for %d", other.name, other.topK, out.name, out.topK)
			}
		}
		outputs = append(outputs, out)
	}
	return outputs, nil
}

func readOutput(o *inference.ModelOutput) (output, error) {
	out := output{name: o.GetName(), datatype: oip.Datatype(o.GetDataType()), labelFile: o.GetLabelFilename()}
	switch o.GetDataType() {
	case inference.DataType_TYPE_STRING:
		out.holds = labels
	case inference.DataType_TYPE_FP32:
		out.holds = scores
	case inference.DataType_TYPE_INT32:
		out.holds = classes
	default:
		return output{}, failure.New(failure.Invalid, "output %q has data_type %s, must be TYPE_STRING (labels), TYPE_FP32 (scores) or TYPE_INT32 (classes)", out.name, o.GetDataType())
	}
	if out.holds == labels && out.labelFile == "" {
		return output{}, failure.New(failure.Invalid, "output %q holds labels and needs a label_filename", out.name)
	}
	dims := o.GetDims()
	out.ones = len(dims) - 1
	if n, ok := vectorLength(dims); ok && (n > 0 || n == -1) && dims[out.ones] == n {
		out.topK = n
		return out, nil
	}
	return output{}, failure.New(failure.Invalid, "output %q has dims %s, must be how many classes an answer lists, or -1", out.name, oip.FormatShape(dims))
}

// declaredTopK is what the dims of the outputs fix, and the output that does;
// 0 when all of them are free.
func declaredTopK(outputs []output) (k int64, by string) {
	for _, out := range outputs {
		if out.topK > 0 {
			return out.topK, out.name
		}
	}
	return 0, ""
}

// tensor writes the picks of all rows, k a row, into new memory.
func (o output) tensor(picks []classification.Pick, rows, k int, batches bool, names []string) oip.Tensor {
	shape := make([]int64, 0, o.ones+2)
	if batches {
		shape = append(shape, int64(rows))
	}
	for range o.ones {
		shape = append(shape, 1)
	}
	return oip.Tensor{Name: o.name, Datatype: o.datatype, Shape: append(shape, int64(k)), Data: o.encode(picks, names)}
}

func (o output) encode(picks []classification.Pick, names []string) []byte {
	const width = 4 // of an FP32, an INT32, and the length of a BYTES element
	size := width * len(picks)
	if o.holds == labels {
		for _, p := range picks {
			size += len(names[p.Class])
		}
	}
	data := make([]byte, 0, size)
	for _, p := range picks {
		switch o.holds {
		case labels:
			data = oip.AppendString(data, names[p.Class])
		case scores:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(p.Value)))
		case classes:
			data = binary.LittleEndian.AppendUint32(data, uint32(p.Class))
		}
	}
	return data
}
