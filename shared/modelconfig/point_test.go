package modelconfig_test

import (
	"context"
	"testing"

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
		"an error of no Kind":   {modelconfig.Blame(context.Canceled, "input", 0, ""), failure.Cancelled, "m/config.pbtxt:1:9: the caller has gone"},
		"no error, none blamed": {modelconfig.Blame(nil, "input", 0, ""), 0, ""},
	} {
		t.Run(name, func(t *testing.T) { wantFailure(t, d.Point(tt.err), tt.kind, tt.message) })
	}
	bare := modelconfig.NewDocument("m/config.pbtxt", nil, cfg)
	wantFailure(t, bare.Point(modelconfig.Blame(fault, "input", 1, "dims")), failure.Unsupported, "it is wrong")
}
