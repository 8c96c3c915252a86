package rest

import (
	"triptych/gateway/rest/jsonlex"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// maxDims bounds what is read of a shape; the check of the model comes later.
const maxDims = 32

// input is one input while it is read.
type input struct {
	tensor *inference.ModelInferRequest_InferInputTensor
	source tensorSource
	params oip.Parameters
	// shape is not nil once it was read.
	shape []int64
	// later is where the data begins that could not be read yet; -1 if none.
	later int
}

// readInput reads the object of input number i.
func readInput(l *jsonlex.Lexer, i int) (*inference.ModelInferRequest_InferInputTensor, tensorSource, error) {
	in := &input{tensor: &inference.ModelInferRequest_InferInputTensor{}, source: tensorSource{binary: -1}, later: -1}
	err := l.Fields([]string{"name", "datatype", "shape", "parameters", "data"}, func(field int) error { return in.field(l, field) })
	if err == nil {
		err = in.finish(l)
	}
	if err != nil {
		if in.tensor.GetName() == "" {
			return nil, in.source, err
		}
		return nil, in.source, failure.Prefix("input "+failure.Quote(in.tensor.GetName()), err)
	}
	if in.tensor.GetName() == "" {
		return nil, in.source, failure.New(failure.Invalid, `input %d has no "name"`, i)
	}
	in.source.name = in.tensor.GetName()
	in.tensor.Shape, in.tensor.Parameters = in.shape, in.params
	return in.tensor, in.source, nil
}

func (in *input) field(l *jsonlex.Lexer, field int) (err error) {
	switch field {
	case 0:
		in.tensor.Name, err = expectText(l, `the "name" of an input`)
	case 1:
		in.tensor.Datatype, err = expectText(l, `"datatype"`)
	case 2:
		in.shape, err = readShape(l)
	case 3:
		in.params, err = readParameters(l)
	case 4:
		// BYTES wait for the parameters, which may say base64.
		if in.shape == nil || in.tensor.GetDatatype() == "" || in.tensor.GetDatatype() == oip.Bytes {
			in.later = l.Offset()
			return l.Skip()
		}
		in.source.data, err = readElements(l, in.tensor.GetDatatype(), in.shape, false)
	}
	return err
}

// finish reads data that had to wait and checks that there is one source.
func (in *input) finish(l *jsonlex.Lexer) error {
	if _, ok := in.params[sharedMemory]; ok {
		return failure.New(failure.Unsupported, "shared memory is not supported by this server")
	}
	if in.shape == nil {
		return failure.New(failure.Invalid, `"shape" is missing`)
	}
	if oip.DataType(in.tensor.GetDatatype()) == inference.DataType_TYPE_INVALID {
		return failure.New(failure.Invalid, "unknown datatype %s", failure.Quote(in.tensor.GetDatatype()))
	}
	size, isBinary, err := takeInt(in.params, binarySize)
	if err != nil {
		return err
	}
	kind, err := takeText(in.params, contentType)
	if err != nil {
		return err
	}
	hasData := in.source.data != nil || in.later >= 0
	switch {
	case isBinary && hasData:
		return failure.New(failure.Invalid, `both "data" and the parameter %q are given`, binarySize)
	case isBinary && size < 0:
		return failure.New(failure.Invalid, "parameter %q is %d, must not be negative", binarySize, size)
	case isBinary:
		in.source.binary = size
	case !hasData:
		return failure.New(failure.Invalid, `neither "data" nor the parameter %q is given`, binarySize)
	case in.later >= 0:
		in.source.data, err = readElements(l.At(in.later), in.tensor.GetDatatype(), in.shape, kind == base64Type)
	}
	return err
}

// readShape reads a list of whole numbers, written with or without a decimal
// point as JavaScript's clients may.
func readShape(l *jsonlex.Lexer) ([]int64, error) {
	if err := l.Expect(jsonlex.Array, `"shape"`); err != nil {
		return nil, err
	}
	if err := l.Open(jsonlex.Array); err != nil {
		return nil, err
	}
	shape := []int64{}
	for i := 0; ; i++ {
		more, err := l.More(jsonlex.Array, i)
		if err != nil || !more {
			return shape, err
		}
		if i == maxDims {
			return nil, failure.New(failure.Invalid, `"shape" has more than %d dimensions`, maxDims)
		}
		if err := l.Expect(jsonlex.Number, `each dimension of "shape"`); err != nil {
			return nil, err
		}
		dim, text, ok, err := l.Int64()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, failure.New(failure.Invalid, `"shape" has %s, which is not a whole number of 64 bits`, failure.Quote(string(text)))
		}
		shape = append(shape, dim)
	}
}
