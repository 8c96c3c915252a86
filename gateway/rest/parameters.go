package rest

import (
	"strconv"

	"triptych/gateway/rest/jsonlex"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// The parameters of the binary tensor and classification extensions. They
// are about the HTTP form of a message and do not reach the model.
const (
	binarySize     = "binary_data_size"
	binaryOutput   = "binary_data_output"
	binaryData     = "binary_data"
	contentType    = "content_type"
	classification = "classification"
	sharedMemory   = "shared_memory_region"
	base64Type     = "base64"
)

// maxParameters bounds one set of parameters.
const maxParameters = 256

// eachParameter reads an object of scalars; null counts as absent.
func eachParameter(l *jsonlex.Lexer, read func(key string, kind jsonlex.Kind) error) error {
	if err := l.Expect(jsonlex.Object, `"parameters"`); err != nil {
		return err
	}
	if err := l.Open(jsonlex.Object); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := l.More(jsonlex.Object, i)
		if err != nil || !more {
			return err
		}
		if i == maxParameters {
			return failure.New(failure.Invalid, "more than %d parameters", maxParameters)
		}
		name, err := l.Key()
		if err != nil {
			return err
		}
		key := string(name)
		kind, err := l.Peek()
		if err != nil {
			return err
		}
		switch kind {
		case jsonlex.Null:
			err = l.Null()
		case jsonlex.Object, jsonlex.Array:
			err = failure.New(failure.Invalid, "parameter %s must be a text, a number, true or false, not %s", failure.Quote(key), kind)
		default:
			err = read(key, kind)
		}
		if err != nil {
			return err
		}
	}
}

// readParameters reads parameters of every type that the protocol has.
func readParameters(l *jsonlex.Lexer) (oip.Parameters, error) {
	var params oip.Parameters
	err := eachParameter(l, func(key string, kind jsonlex.Kind) error {
		p, err := readParameter(l, key, kind)
		if err != nil {
			return err
		}
		if params == nil {
			params = oip.Parameters{}
		}
		params[key] = p
		return nil
	})
	return params, err
}

func readParameter(l *jsonlex.Lexer, key string, kind jsonlex.Kind) (*inference.InferParameter, error) {
	switch kind {
	case jsonlex.Bool:
		v, err := l.Bool()
		return oip.Bool(v), err
	case jsonlex.Number:
		text, err := l.Number()
		if err != nil {
			return nil, err
		}
		return numberParameter(key, string(text))
	default:
		v, err := l.Text()
		return oip.String(string(v)), err
	}
}

// numberParameter keeps whole numbers whole: int64 where it fits, else uint64.
func numberParameter(key, text string) (*inference.InferParameter, error) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return oip.Int64(v), nil
	}
	if v, err := strconv.ParseUint(text, 10, 64); err == nil {
		return &inference.InferParameter{ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: v}}, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "parameter %s is %s, which no number can hold", failure.Quote(key), failure.Quote(text))
	}
	return &inference.InferParameter{ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: v}}, nil
}

// takeText removes a text parameter of an extension and gives its value.
func takeText(params oip.Parameters, key string) (string, error) {
	p, ok := params[key]
	if !ok {
		return "", nil
	}
	delete(params, key)
	v, isText := p.GetParameterChoice().(*inference.InferParameter_StringParam)
	if !isText {
		return "", failure.New(failure.Invalid, "parameter %q must be a text", key)
	}
	return v.StringParam, nil
}

// takeInt removes a whole-number parameter and tells whether it was there.
func takeInt(params oip.Parameters, key string) (value int64, given bool, err error) {
	if _, given = params[key]; !given {
		return 0, false, nil
	}
	value, err = oip.IntParameter(params, key, 0)
	delete(params, key)
	return value, true, err
}

// takeBool removes a truth-value parameter; fallback when absent.
func takeBool(params oip.Parameters, key string, fallback bool) (bool, error) {
	v, err := oip.BoolParameter(params, key, fallback)
	delete(params, key)
	return v, err
}
