package preprocess

import (
	"triptych/proto/inference"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// tensors are the input, and the output that shows the image. There is one of
// each, beside the outputs that parameters name.
func (p *plan) tensors(cfg *inference.ModelConfig) (*inference.ModelInput, *inference.ModelOutput, error) {
	if n := len(cfg.GetInput()); n != 1 {
		return nil, nil, failure.New(failure.Invalid, "it has %d inputs, the image backend wants 1", n)
	}
	in := cfg.GetInput()[0]
	if err := checkInput(in); err != nil {
		return nil, nil, err
	}
	var shows []*inference.ModelOutput
	for _, out := range cfg.GetOutput() {
		if !p.beside.has(out.GetName()) {
			shows = append(shows, out)
		}
	}
	if n := len(shows); n != 1 {
		return nil, nil, failure.New(failure.Invalid, "it has %d outputs, the image backend has 1 beside those that the parameters size_output, scale_output and padding_output name", n)
	}
	return in, shows[0], checkOutput(shows[0])
}

// checkInput wants files or pixels.
func checkInput(in *inference.ModelInput) error {
	dims := in.GetDims()
	switch dt := oip.Datatype(in.GetDataType()); {
	case dt == oip.Bytes && len(dims) == 1 && dims[0] == 1:
		return nil
	case dt == "UINT8" && len(dims) == 3 && dims[2] == pixels.Samples:
		return nil
	default:
		return failure.New(failure.Invalid, "input %q is %s %s, the image backend wants BYTES [1] (TYPE_STRING) for files or UINT8 [-1,-1,3] for pixels",
			in.GetName(), dt, oip.FormatShape(dims))
	}
}

// checkOutput wants three dimensions of numbers that there are.
func checkOutput(out *inference.ModelOutput) error {
	if dt := oip.Datatype(out.GetDataType()); dt != "UINT8" && !isFloat(out) {
		return failure.New(failure.Invalid, "output %q is %s, the image backend gives UINT8, FP16 or FP32", out.GetName(), dt)
	}
	if len(out.GetDims()) != 3 {
		return failure.New(failure.Invalid, "output %q has dims %s, the image backend gives three", out.GetName(), oip.FormatShape(out.GetDims()))
	}
	return nil
}

func isFloat(out *inference.ModelOutput) bool {
	return out.GetDataType() == inference.DataType_TYPE_FP32 || out.GetDataType() == inference.DataType_TYPE_FP16
}
