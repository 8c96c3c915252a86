package admission

import "triptych/proto/inference"

// sliceHeader is what an element of a BYTES tensor takes beside its bytes.
const sliceHeader = 24

// requestBytes is the memory that the tensors of a request take.
func requestBytes(req *inference.ModelInferRequest) int64 {
	bytes := rawBytes(req.GetRawInputContents())
	for _, in := range req.GetInputs() {
		bytes += contentBytes(in.GetContents())
	}
	return bytes
}

// responseBytes is the memory that the tensors of a response take.
func responseBytes(resp *inference.ModelInferResponse) int64 {
	bytes := rawBytes(resp.GetRawOutputContents())
	for _, out := range resp.GetOutputs() {
		bytes += contentBytes(out.GetContents())
	}
	return bytes
}

func contentBytes(c *inference.InferTensorContents) int64 {
	if c == nil {
		return 0
	}
	return int64(len(c.GetBoolContents())+
		4*(len(c.GetIntContents())+len(c.GetUintContents())+len(c.GetFp32Contents()))+
		8*(len(c.GetInt64Contents())+len(c.GetUint64Contents())+len(c.GetFp64Contents()))) +
		rawBytes(c.GetBytesContents())
}

func rawBytes(parts [][]byte) int64 {
	bytes := int64(sliceHeader * len(parts))
	for _, p := range parts {
		bytes += int64(len(p))
	}
	return bytes
}
