package postprocess

import (
	"math"
	"strconv"

	"triptych/proto/inference"
	"triptych/services/postprocess/classification"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// defaultTopK is how many classes an answer lists when neither the outputs nor
// the parameter top_k say it.
const defaultTopK = 5

// settings is one model's configuration, checked.
type settings struct {
	input      string
	width      int // bytes a logit
	read       classification.Reader
	classes    int
	batches    bool
	activation classification.Activation
	topK       int
	outputs    []output
	labels     []string // of each class; nil without an output of labels
}

func readSettings(spec modelserver.Spec, maxTopK int) (*settings, error) {
	s := &settings{batches: spec.Config.GetMaxBatchSize() > 0}
	err := s.readInput(spec.Config)
	if err == nil {
		s.outputs, err = readOutputs(spec.Config)
	}
	if err != nil {
		return nil, failure.Prefix("model "+strconv.Quote(spec.Name()), err)
	}
	offset, err := s.readParameters(spec.Config)
	if err != nil {
		return nil, err
	}
	if s.topK > maxTopK {
		err = failure.New(failure.Invalid, "top_k is %d, but --max-top-k allows %d", s.topK, maxTopK)
	} else {
		err = s.readLabels(spec.Directory, offset)
	}
	if err != nil {
		return nil, failure.Prefix("model "+strconv.Quote(spec.Name()), err)
	}
	return s, nil
}

func (s *settings) readInput(cfg *inference.ModelConfig) error {
	if n := len(cfg.GetInput()); n != 1 {
		return failure.New(failure.Invalid, "has %d inputs, a classification model has one: the scores", n)
	}
	in := cfg.GetInput()[0]
	datatype := oip.Datatype(in.GetDataType())
	s.input, s.width, s.read = in.GetName(), oip.Size(datatype), classification.ReaderOf(datatype)
	if s.read == nil {
		return failure.New(failure.Invalid, "input %q has data_type %s, must be one of TYPE_FP32, TYPE_FP64, TYPE_FP16, TYPE_BF16", s.input, in.GetDataType())
	}
	classes, ok := vectorLength(in.GetDims())
	if !ok || classes < 1 || classes > math.MaxInt32 {
		return failure.New(failure.Invalid, "input %q has dims %s, must be the fixed number of classes", s.input, oip.FormatShape(in.GetDims()))
	}
	s.classes = int(classes)
	return nil
}

// vectorLength is the one dimension that is not 1. An ONNX model may well give
// [1000,1,1].
func vectorLength(dims []int64) (n int64, ok bool) {
	n = 1
	for _, d := range dims {
		if d != 1 && n != 1 {
			return 0, false
		}
		if d != 1 {
			n = d
		}
	}
	return n, len(dims) > 0
}

// readParameters also gives labels_offset: how many lines of the labels file
// stand before the label of class 0.
func (s *settings) readParameters(cfg *inference.ModelConfig) (offset int64, err error) {
	p := modelconfig.NewParameters(cfg)
	s.activation = classification.Activation(p.Word("activation",
		string(classification.Softmax), string(classification.Sigmoid), string(classification.None)))
	declared, by := declaredTopK(s.outputs)
	topK := p.Int("top_k", orElse(declared, min(defaultTopK, int64(s.classes))), 1, int64(s.classes))
	if declared > 0 && topK != declared {
		p.Fail("top_k", "is %d, but output %q has dims for %d", topK, by, declared)
	}
	s.topK = int(topK)
	offset = p.Int("labels_offset", 0, 0, math.MaxInt32)
	if err := p.Err(); err != nil {
		return 0, err
	}
	if topK > int64(s.classes) {
		return 0, failure.New(failure.Invalid, "model %q: output %q has dims for %d classes, but input %q has only %d", cfg.GetName(), by, topK, s.input, s.classes)
	}
	return offset, nil
}

func orElse(n, fallback int64) int64 {
	if n > 0 {
		return n
	}
	return fallback
}

// readLabels reads the file that the output of labels names and holds its
// length against the number of classes: a file that is one line off would give
// a wrong label to every image.
func (s *settings) readLabels(directory string, offset int64) error {
	for _, out := range s.outputs {
		if out.holds != labels {
			continue
		}
		read, err := classification.ReadLabels(directory, out.labelFile)
		if err != nil {
			return failure.Prefix("output "+strconv.Quote(out.name), err)
		}
		if got, want := int64(len(read)), int64(s.classes)+offset; got != want {
			return failure.New(failure.Invalid, "label_filename %q has %d labels, but input %q has %d classes and labels_offset is %d%s",
				out.labelFile, got, s.input, s.classes, offset, offsetHint(got-int64(s.classes)))
		}
		s.labels = read[offset:]
	}
	return nil
}

// offsetHint speaks of the case that is common: a "background" label before the
// first class.
func offsetHint(surplus int64) string {
	if surplus != 1 {
		return ""
	}
	return ` (when the first line is no class of the model, set the parameter "labels_offset" to "1")`
}
