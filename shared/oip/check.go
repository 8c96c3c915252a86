package oip

import (
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// Check holds a request with raw contents against a model's configuration:
// names, datatypes, shapes, the batch, byte counts, and the outputs asked for.
// It returns the batch size: 1 for a model without a batch dimension. Nothing
// that passes can shift another caller's rows in a batch.
func Check(req *inference.ModelInferRequest, cfg *inference.ModelConfig) (batch int64, err error) {
	if err := checkRaw(req); err != nil {
		return 0, err
	}
	given := make(map[string]bool, len(req.GetInputs()))
	batch = 1
	for i, in := range req.GetInputs() {
		if given[in.GetName()] {
			return 0, failure.New(failure.Invalid, "input %s is given twice", failure.Quote(in.GetName()))
		}
		given[in.GetName()] = true
		want := configInput(cfg, in.GetName())
		if want == nil {
			return 0, failure.New(failure.Invalid, "unknown input %s, model %q has %s", failure.Quote(in.GetName()), cfg.GetName(), inputNames(cfg))
		}
		if err := checkInput(in, req.GetRawInputContents()[i], want, cfg); err != nil {
			return 0, err
		}
		if cfg.GetMaxBatchSize() > 0 {
			n := in.GetShape()[0]
			if i > 0 && n != batch {
				return 0, failure.New(failure.Invalid, "input %s has a batch of %d, but input %s has %d", failure.Quote(in.GetName()), n, failure.Quote(req.GetInputs()[0].GetName()), batch)
			}
			batch = n
		}
	}
	for _, want := range cfg.GetInput() {
		if !want.GetOptional() && !given[want.GetName()] {
			return 0, failure.New(failure.Invalid, "missing input %q, model %q takes %s", want.GetName(), cfg.GetName(), inputNames(cfg))
		}
	}
	if err := checkOutputs(req, cfg); err != nil {
		return 0, err
	}
	return batch, nil
}

// checkRaw makes sure that each input has its raw contents.
func checkRaw(req *inference.ModelInferRequest) error {
	if inputs, raw := len(req.GetInputs()), len(req.GetRawInputContents()); inputs != raw {
		return failure.New(failure.Invalid, "the request has %d inputs but %d raw_input_contents", inputs, raw)
	}
	return nil
}

func checkInput(in *inference.ModelInferRequest_InferInputTensor, data []byte, want *inference.ModelInput, cfg *inference.ModelConfig) error {
	maxBatch := cfg.GetMaxBatchSize()
	name := failure.Quote(in.GetName())
	if dt := Datatype(want.GetDataType()); in.GetDatatype() != dt {
		return failure.New(failure.Invalid, "input %s has datatype %s, the model wants %s", name, failure.Quote(in.GetDatatype()), dt)
	}
	n, err := Elements(in.GetShape())
	if err != nil {
		return failure.Prefix("input "+name, err)
	}
	shape := WireShape(maxBatch, want.GetDims())
	if !Fits(in.GetShape(), shape) {
		return failure.New(failure.Invalid, "input %s has shape %s, the model wants %s", name, FormatShape(in.GetShape()), FormatShape(shape))
	}
	if maxBatch > 0 {
		if b := in.GetShape()[0]; b < 1 || b > int64(maxBatch) && b > mostRows(cfg) {
			return failure.New(failure.Invalid, "input %s has a batch of %d, the model takes 1 to %d", name, b, mostRows(cfg))
		}
	}
	if in.GetDatatype() == Bytes {
		if err := checkStrings(data, n); err != nil {
			return failure.Prefix("input "+name, err)
		}
		return nil
	}
	size, err := ByteSize(in.GetDatatype(), in.GetShape())
	if err != nil {
		return failure.Prefix("input "+name, err)
	}
	if int64(len(data)) != size {
		return failure.New(failure.Invalid, "input %s has %d bytes, but %s of shape %s has %d", name, len(data), in.GetDatatype(), FormatShape(in.GetShape()), size)
	}
	return nil
}

// mostRows is the largest batch of a request: more than the model's own where it
// is to be split.
func mostRows(cfg *inference.ModelConfig) int64 {
	most := int64(cfg.GetMaxBatchSize())
	if modelconfig.Splits(cfg) {
		most = max(most, modelconfig.MaxSplitRows)
	}
	return most
}

func checkOutputs(req *inference.ModelInferRequest, cfg *inference.ModelConfig) error {
	asked := make(map[string]bool, len(req.GetOutputs()))
	for _, out := range req.GetOutputs() {
		if asked[out.GetName()] {
			return failure.New(failure.Invalid, "output %s is asked for twice", failure.Quote(out.GetName()))
		}
		asked[out.GetName()] = true
		if !hasOutput(cfg, out.GetName()) {
			return failure.New(failure.Invalid, "unknown output %s, model %q has %s", failure.Quote(out.GetName()), cfg.GetName(), outputNames(cfg))
		}
	}
	return nil
}

func configInput(cfg *inference.ModelConfig, name string) *inference.ModelInput {
	for _, in := range cfg.GetInput() {
		if in.GetName() == name {
			return in
		}
	}
	return nil
}

func hasOutput(cfg *inference.ModelConfig, name string) bool {
	for _, out := range cfg.GetOutput() {
		if out.GetName() == name {
			return true
		}
	}
	return false
}

func inputNames(cfg *inference.ModelConfig) string { return names("inputs", cfg.GetInput()) }

func outputNames(cfg *inference.ModelConfig) string { return names("outputs", cfg.GetOutput()) }

func names[T interface{ GetName() string }](what string, tensors []T) string {
	if len(tensors) == 0 {
		return "no " + what
	}
	quoted := make([]string, len(tensors))
	for i, t := range tensors {
		quoted[i] = strconv.Quote(t.GetName())
	}
	return strings.Join(quoted, ", ")
}

// Arrange puts a response's outputs into the order that the request asked for
// and drops those it did not ask for. An output that is asked for and absent is
// the model's failure.
func Arrange(req *inference.ModelInferRequest, resp *inference.ModelInferResponse) error {
	if len(req.GetOutputs()) == 0 {
		return nil
	}
	arranged := &inference.ModelInferResponse{}
	for _, want := range req.GetOutputs() {
		t, ok := Output(resp, want.GetName())
		if !ok {
			return failure.New(failure.Internal, "the model gave no output %s", failure.Quote(want.GetName()))
		}
		AddOutput(arranged, t)
	}
	resp.Outputs, resp.RawOutputContents = arranged.Outputs, arranged.RawOutputContents
	return nil
}
