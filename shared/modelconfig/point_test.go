package modelconfig_test

import (
	"context"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// REP-06: who finds a fault without having the text blames a field; the document
// knows the line.
func TestPoint(t *testing.T) {
	const text = "input [ { name: \"x\" },\n {\n name: \"y\"\n dims: 3 } ]"
	cfg, err := modelconfig.ParseText("m/config.pbtxt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := modelconfig.NewDocument("m/config.pbtxt", []byte(text), cfg)
	fault := failure.New(failure.Unsupported, "it is wrong")
	for name, tt := range map[string]struct {
		err     error
		kind    failure.Kind
		message string
	}{
		"a member":              {modelconfig.Blame(fault, "input", 1, "dims"), failure.Unsupported, "m/config.pbtxt:4:2: it is wrong"},
		"absent member":         {modelconfig.Blame(fault, "input", 1, "data_type"), failure.Unsupported, "m/config.pbtxt:2:2: it is wrong"},
		"a message":             {modelconfig.Blame(fault, "input", 0, ""), failure.Unsupported, "m/config.pbtxt:1:9: it is wrong"},
		"absent field":          {modelconfig.Blame(fault, "output", 0, "dims"), failure.Unsupported, "it is wrong"},
		"behind a prefix":       {modelconfig.Blame(failure.Prefix("step 1", fault), "input", 0, ""), failure.Unsupported, "m/config.pbtxt:1:9: step 1: it is wrong"},
		"nobody blamed":         {fault, failure.Unsupported, "it is wrong"},
		"blame behind a prefix": {failure.Prefix("step 1", modelconfig.Blame(fault, "input", 0, "")), failure.Unsupported, "m/config.pbtxt:1:9: step 1: it is wrong"},
		"an error of no Kind":   {modelconfig.Blame(context.Canceled, "input", 0, ""), failure.Cancelled, "m/config.pbtxt:1:9: the caller has gone"},
		"no error, none blamed": {modelconfig.Blame(nil, "input", 0, ""), 0, ""},
	} {
		t.Run(name, func(t *testing.T) { wantFailure(t, d.Point(tt.err), tt.kind, tt.message) })
	}
	params := modelconfig.NewDocument("m/config.pbtxt", []byte("parameters { key: \"a\" }\nparameters [ {\n key: \"b\" } ]"), &inference.ModelConfig{
		Name: "m", Parameters: map[string]*inference.ModelParameter{"a": {StringValue: "1"}, "b": {StringValue: "2"}},
	})
	p := modelconfig.NewParameters(params.Config)
	p.Int("a", 0, 0, 9)
	wantFailure(t, params.Point(p.Err()), failure.Invalid, `m/config.pbtxt:2:14: model "m": unknown parameter "b"`)
	p.Bool("b", false)
	wantFailure(t, params.Point(p.Err()), failure.Invalid, `m/config.pbtxt:2:14: model "m": parameter "b": is "2", must be true or false`)
	bare := modelconfig.NewDocument("m/config.pbtxt", nil, cfg)
	wantFailure(t, bare.Point(modelconfig.Blame(fault, "input", 1, "dims")), failure.Unsupported, "it is wrong")
}
