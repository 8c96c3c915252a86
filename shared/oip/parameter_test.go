package oip_test

import (
	"math"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

func TestParameters(t *testing.T) {
	params := oip.Parameters{
		"int": oip.Int64(-3), "bool": oip.Bool(true), "text": oip.String("5"), "none": {}, "nil": nil,
		"uint":  {ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: 7}},
		"huge":  {ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: math.MaxUint64}},
		"whole": {ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: 5}},
		"half":  {ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: 5.5}},
		"NaN":   {ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: math.NaN()}},
		"Inf":   {ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: math.Inf(1)}},
	}
	for key, want := range map[string]int64{"int": -3, "uint": 7, "whole": 5, "absent": 42, "none": 42, "nil": 42} {
		if got, err := oip.IntParameter(params, key, 42); got != want || err != nil {
			t.Errorf("%s is %d (%v), want %d", key, got, err, want)
		}
	}
	for _, key := range []string{"bool", "text", "huge", "half", "NaN", "Inf"} {
		_, err := oip.IntParameter(params, key, 42)
		wantFailure(t, err, failure.Invalid, `parameter "`+key+`" must be a whole number`)
	}
	for key, want := range map[string]bool{"bool": true, "absent": false, "none": false} {
		if got, err := oip.BoolParameter(params, key, false); got != want || err != nil {
			t.Errorf("%s is %t (%v), want %t", key, got, err, want)
		}
	}
	_, err := oip.BoolParameter(params, "int", false)
	wantFailure(t, err, failure.Invalid, `parameter "int" must be true or false`)
}

func TestTensorsAreViews(t *testing.T) {
	req := request(image(1, 16), mask(1, 6))
	in, ok := oip.Input(req, "mask")
	if !ok || in.Datatype != "UINT8" || &in.Data[0] != &req.GetRawInputContents()[1][0] {
		t.Errorf("Input gives %v, %t", in, ok)
	}
	req.RawInputContents = req.GetRawInputContents()[:1]
	if _, ok := oip.Input(req, "mask"); ok {
		t.Error("an input without contents is found")
	}
	if _, ok := oip.Output(&inference.ModelInferResponse{}, "x"); ok {
		t.Error("an output that is not there is found")
	}
	if !oip.Wanted(req, "a") || !oip.Wanted(asking(req, "b"), "b") || oip.Wanted(req, "a") {
		t.Error("Wanted: no list means all, a list means its own")
	}
}
