package engine

import (
	"bytes"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// CheckRequest refuses what the runtime could not take as it is, before the
// request meets others in a batch: the binding hands strings over as C does, so
// that an element would end at its first zero byte.
func (s *Session) CheckRequest(req *inference.ModelInferRequest) error {
	for i, in := range req.GetInputs() {
		if in.GetDatatype() != oip.Bytes {
			continue
		}
		count, err := oip.Elements(in.GetShape())
		if err != nil {
			return err
		}
		elements, err := oip.Strings(req.GetRawInputContents()[i], count)
		if err != nil {
			return err
		}
		for n, e := range elements {
			if bytes.IndexByte(e, 0) >= 0 {
				return failure.New(failure.Invalid, "input %q: element %d has a zero byte, which ONNX Runtime's strings can't carry here", in.GetName(), n)
			}
		}
	}
	return nil
}
