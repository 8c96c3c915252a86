package oip

import "triptych/proto/inference"

// Tensor is a view over one tensor of a message whose contents are raw.
// Data is the message's own memory.
type Tensor struct {
	Name       string
	Datatype   string
	Shape      []int64
	Parameters map[string]*inference.InferParameter
	Data       []byte
}

// Input finds an input of a request whose contents are raw.
func Input(req *inference.ModelInferRequest, name string) (Tensor, bool) {
	for i, in := range req.GetInputs() {
		if in.GetName() == name && i < len(req.GetRawInputContents()) {
			return Tensor{in.GetName(), in.GetDatatype(), in.GetShape(), in.GetParameters(), req.GetRawInputContents()[i]}, true
		}
	}
	return Tensor{}, false
}

// Output finds an output of a response whose contents are raw.
func Output(resp *inference.ModelInferResponse, name string) (Tensor, bool) {
	for i, out := range resp.GetOutputs() {
		if out.GetName() == name && i < len(resp.GetRawOutputContents()) {
			return Tensor{out.GetName(), out.GetDatatype(), out.GetShape(), out.GetParameters(), resp.GetRawOutputContents()[i]}, true
		}
	}
	return Tensor{}, false
}

// AddInput appends a tensor to a request with raw contents. The data is not
// copied.
func AddInput(req *inference.ModelInferRequest, t Tensor) {
	req.Inputs = append(req.Inputs, &inference.ModelInferRequest_InferInputTensor{
		Name: t.Name, Datatype: t.Datatype, Shape: t.Shape, Parameters: t.Parameters,
	})
	req.RawInputContents = append(req.RawInputContents, t.Data)
}

// AddOutput appends a tensor to a response with raw contents. The data is not
// copied.
func AddOutput(resp *inference.ModelInferResponse, t Tensor) {
	resp.Outputs = append(resp.Outputs, &inference.ModelInferResponse_InferOutputTensor{
		Name: t.Name, Datatype: t.Datatype, Shape: t.Shape, Parameters: t.Parameters,
	})
	resp.RawOutputContents = append(resp.RawOutputContents, t.Data)
}

// Wanted tells whether the caller asked for an output: no list means all.
func Wanted(req *inference.ModelInferRequest, name string) bool {
	if len(req.GetOutputs()) == 0 {
		return true
	}
	for _, out := range req.GetOutputs() {
		if out.GetName() == name {
			return true
		}
	}
	return false
}
