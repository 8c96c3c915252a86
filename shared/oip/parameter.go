package oip

import (
	"math"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Parameters is the map in which requests, tensors and responses carry
// free-form values.
type Parameters = map[string]*inference.InferParameter

// IntParameter reads a whole number, whichever of the numeric forms the client
// chose; fallback when absent. Clients differ: Triton's send priority as uint64
// and timeout as int64.
func IntParameter(params Parameters, key string, fallback int64) (int64, error) {
	p, ok := params[key]
	if !ok || p.GetParameterChoice() == nil {
		return fallback, nil
	}
	switch v := p.GetParameterChoice().(type) {
	case *inference.InferParameter_Int64Param:
		return v.Int64Param, nil
	case *inference.InferParameter_Uint64Param:
		if v.Uint64Param <= math.MaxInt64 {
			return int64(v.Uint64Param), nil
		}
	case *inference.InferParameter_DoubleParam:
		if v.DoubleParam == math.Trunc(v.DoubleParam) && math.Abs(v.DoubleParam) < 1<<53 {
			return int64(v.DoubleParam), nil
		}
	}
	return 0, failure.New(failure.Invalid, "parameter %q must be a whole number", key)
}

// BoolParameter reads a truth value; fallback when absent.
func BoolParameter(params Parameters, key string, fallback bool) (bool, error) {
	p, ok := params[key]
	if !ok || p.GetParameterChoice() == nil {
		return fallback, nil
	}
	if v, isBool := p.GetParameterChoice().(*inference.InferParameter_BoolParam); isBool {
		return v.BoolParam, nil
	}
	return false, failure.New(failure.Invalid, "parameter %q must be true or false", key)
}

// Int64 makes a whole-number parameter.
func Int64(v int64) *inference.InferParameter {
	return &inference.InferParameter{ParameterChoice: &inference.InferParameter_Int64Param{Int64Param: v}}
}

// Bool makes a truth-value parameter.
func Bool(v bool) *inference.InferParameter {
	return &inference.InferParameter{ParameterChoice: &inference.InferParameter_BoolParam{BoolParam: v}}
}

// String makes a text parameter.
func String(v string) *inference.InferParameter {
	return &inference.InferParameter{ParameterChoice: &inference.InferParameter_StringParam{StringParam: v}}
}
