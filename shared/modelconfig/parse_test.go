package modelconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// wantFailure compares an error's Kind and message; "" wants none.
func wantFailure(t *testing.T, err error, kind failure.Kind, message string) {
	t.Helper()
	switch {
	case err == nil && message == "":
	case err == nil:
		t.Errorf("no error, want %q", message)
	case failure.KindOf(err) != kind || failure.Message(err) != message:
		t.Errorf("got %s %q\nwant %s %q", failure.KindOf(err), failure.Message(err), kind, message)
	}
}

// What real configurations are written with, by protobuf's text format.
func TestParseText(t *testing.T) {
	cached := func(on bool) *inference.ModelConfig {
		return &inference.ModelConfig{ResponseCache: &inference.ModelResponseCache{Enable: on}}
	}
	two := &inference.ModelConfig{Input: []*inference.ModelInput{
		{Name: "x", DataType: inference.DataType_TYPE_FP32, Dims: []int64{1, -1}},
		{Name: "y", DataType: inference.DataType_TYPE_STRING, Dims: []int64{2}},
	}}
	tags := &inference.ModelConfig{MetricTags: map[string]string{"a": "1", "b": "2"}}
	tests := map[string]struct {
		text string
		want *inference.ModelConfig
	}{
		"empty":               {"", &inference.ModelConfig{}},
		"byte order mark":     {"\uFEFFname: \"a\"", &inference.ModelConfig{Name: "a"}},
		"CR LF":               {"name: \"a\" # b\r\nmax_batch_size:\r\n4\r\n", &inference.ModelConfig{Name: "a", MaxBatchSize: 4}},
		"comments":            {"# all\nname: \"a\" # \"b\"\n#end", &inference.ModelConfig{Name: "a"}},
		"list of messages":    {`input [ { name: "x" data_type: TYPE_FP32 dims: [1, -1] }, { name: "y" data_type: TYPE_STRING dims: [ 2 ] } ]`, two},
		"given twice":         {`input { name: "x" data_type: TYPE_FP32 dims: 1 dims: -1 } input { name: "y" data_type: TYPE_STRING dims: 2 }`, two},
		"colons":              {`input: { name: "x", data_type: TYPE_FP32; dims: [1,-1] }; input: { name: "y", data_type: TYPE_STRING, dims: 2 },`, two},
		"angle brackets":      {`input < name: "x" data_type: TYPE_FP32 dims: [1,-1] > input: [ < name: "y" data_type: TYPE_STRING dims: 2 > ]`, two},
		"enums by number":     {`input { name: "x" data_type: 11 dims: [1,-1] } input { name: "y" data_type: 13 dims: 2 }`, two},
		"map entries":         {`metric_tags { key: "a" value: "1" } metric_tags { key: "b", value: "2" }`, tags},
		"map entries, listed": {`metric_tags: [ { key: "b" value: "2" }, { key: "a" value: "1" } ]`, tags},
		"adjacent strings":    {"name: \"a\" 'b'\n  \"c\"", &inference.ModelConfig{Name: "abc"}},
		"escapes":             {`name: "\x41\102\t\"'" `, &inference.ModelConfig{Name: "AB\t\"'"}},
		"numbers":             {"max_batch_size: 0x10", &inference.ModelConfig{MaxBatchSize: 16}},
		"true":                {"response_cache { enable: true }", cached(true)},
		"True":                {"response_cache { enable: True }", cached(true)},
		"t":                   {"response_cache { enable: t }", cached(true)},
		"1":                   {"response_cache { enable: 1 }", cached(true)},
		"false":               {"response_cache { enable: false }", cached(false)},
		"False":               {"response_cache { enable: False }", cached(false)},
		"f":                   {"response_cache { enable: f }", cached(false)},
		"0":                   {"response_cache { enable: 0 }", cached(false)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := modelconfig.ParseText("config.pbtxt", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseTextRefuses(t *testing.T) {
	tests := map[string]struct{ text, message string }{
		"unknown field":        {"name: \"a\"\n  max_batchsize: 4", `m/config.pbtxt:2:3: unknown field: max_batchsize, did you mean "max_batch_size"?`},
		"unknown in a message": {"input [\n { nam: \"x\" } ]", `m/config.pbtxt:2:4: unknown field: nam, did you mean "name"?`},
		"a name of others":     {"input { dim: 3 }", `m/config.pbtxt:1:9: unknown field: dim, did you mean "dims"?`},
		"nothing like it":      {"zzzzzzzzzzzz: 1", "m/config.pbtxt:1:1: unknown field: zzzzzzzzzzzz"},
		"after wide letters":   {"name: \"üü\" nam: 1", `m/config.pbtxt:1:12: unknown field: nam, did you mean "name"?`},
		"singular twice":       {"name: \"a\"\nname: \"b\"", `m/config.pbtxt:2:1: non-repeated field "name" is repeated`},
		"oneof twice": {
			"dynamic_batching { }\n sequence_batching { }",
			`m/config.pbtxt:2:2: error parsing "sequence_batching", oneof inference.ModelConfig.scheduling_choice is already set`,
		},
		"inner oneof twice": {
			"version_policy { latest { } all { } }",
			`m/config.pbtxt:1:29: error parsing "all", oneof inference.ModelVersionPolicy.policy_choice is already set`,
		},
		"syntax":       {"name: \"a\"\nmax_batch_size 4", "m/config.pbtxt:2:1: missing field separator :"},
		"comma":        {"input { dims: [ 1, ] }", "m/config.pbtxt:1:20: invalid scalar value: ]"},
		"wrong type":   {"max_batch_size: \"4\"", `m/config.pbtxt:1:17: invalid value for int32 type: "4"`},
		"too large":    {"max_batch_size: 99999999999", "m/config.pbtxt:1:17: invalid value for int32 type: 99999999999"},
		"enum":         {"input { data_type: TYPE_FLOAT }", "m/config.pbtxt:1:20: invalid value for enum type: TYPE_FLOAT"},
		"bool":         {"response_cache { enable: yes }", "m/config.pbtxt:1:26: invalid value for bool type: yes"},
		"not UTF-8":    {"name: \"\xff\"", "m/config.pbtxt:1:7: invalid UTF-8 detected"},
		"open brace":   {"name: \"a\"\ninput {", "m/config.pbtxt:2:8: the text ends too early: a brace, a bracket or a quote is open"},
		"open quote":   {"name: \"a", "m/config.pbtxt:1:9: the text ends too early: a brace, a bracket or a quote is open"},
		"brace closed": {"}", "m/config.pbtxt:1:1: invalid field name: }"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := modelconfig.ParseText("m/config.pbtxt", []byte(tt.text))
			wantFailure(t, err, failure.Invalid, tt.message)
		})
	}
}

func TestParseJSON(t *testing.T) {
	got, err := modelconfig.ParseJSON("config", []byte(`{"name": "a", "max_batch_size": 4, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [3, "4"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &inference.ModelConfig{Name: "a", MaxBatchSize: 4, Input: []*inference.ModelInput{
		{Name: "x", DataType: inference.DataType_TYPE_FP32, Dims: []int64{3, 4}},
	}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	for text, message := range map[string]string{
		"{\n \"nam\": \"a\"}":     `config:2:2: unknown field "nam", did you mean "name"?`,
		"{\"name\":\n}":           "config:2:1: invalid character '}' looking for beginning of value",
		"{\"name\": \"a\" \"b\"}": `config:1:14: invalid character '"' after object key:value pair`,
		"{\"name\": 1}":           "config:1:10: invalid value for string field name: 1",
		"[]":                      "config:1:1: unexpected token [",
		"":                        "config:1:1: unexpected end of JSON input",
	} {
		_, err := modelconfig.ParseJSON("config", []byte(text))
		wantFailure(t, err, failure.Invalid, message)
	}
}

// No text may break the reader, nor the check that points into it.
func FuzzParseText(f *testing.F) {
	f.Add("name: \"a\"\ninput [ { name: 'x' data_type: TYPE_FP32 dims: [ 0 ] } ]")
	f.Add("platform: \"ensemble\" ensemble_scheduling { step < model_name: \"a\" > }")
	f.Add("# c\nparameters [ { key: \"a\" value { string_value: \"1\" } } ] max_batch_size: -1")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := modelconfig.ParseText("f", []byte(text))
		if err == nil {
			err = modelconfig.NewDocument("f", []byte(text), cfg).Check()
		}
		if kind := failure.KindOf(err); err != nil && kind != failure.Invalid && kind != failure.Unsupported {
			t.Errorf("%v is %s", err, kind)
		}
	})
}
