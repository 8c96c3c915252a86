package modelconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

func TestVersionLabels(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want map[string]int64
		err  string
	}{
		"none":         {"", nil, ""},
		"two":          {" stable=1, canary = 12 ", map[string]int64{"stable": 1, "canary": 12}, ""},
		"one version":  {"a=3,b=3", map[string]int64{"a": 3, "b": 3}, ""},
		"a number":     {"1=2", nil, `has the label "1", must be a letter from a to z`},
		"upper case":   {"Stable=1", nil, `has the label "Stable"`},
		"empty":        {"=1", nil, `has the label ""`},
		"long":         {strings.Repeat("x", 64) + "=1", nil, "has the label"},
		"no version":   {"stable", nil, `has "stable", must be a label and a version such as "stable=1"`},
		"zero":         {"stable=0", nil, `has "stable=0"`},
		"a word":       {"stable=canary", nil, `has "stable=canary"`},
		"twice":        {"a=1,a=2", nil, `has the label "a" twice`},
		"comma at end": {"a=1,", nil, `has the label ""`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := &inference.ModelConfig{Name: "m", Parameters: map[string]*inference.ModelParameter{modelconfig.LabelsParameter: {StringValue: test.text}}}
			got, err := modelconfig.VersionLabels(cfg)
			if test.err != "" {
				if failure.KindOf(err) != failure.Invalid || !strings.HasPrefix(failure.Message(err), `model "m": parameter "version_labels": `+test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			again := &inference.ModelConfig{Parameters: map[string]*inference.ModelParameter{modelconfig.LabelsParameter: {StringValue: modelconfig.FormatLabels(got)}}}
			if back, err := modelconfig.VersionLabels(again); err != nil || !cmp.Equal(got, back) {
				t.Errorf("written and read again: %v, %v", back, err)
			}
			// No backend has to know the parameter.
			if err := modelconfig.NewParameters(cfg).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"good":          {`{"backend": "double", "max_batch_size": 8}`, ""},
		"its own name":  {`{"name": "m", "platform": "onnxruntime_onnx"}`, ""},
		"another name":  {`{"name": "n", "backend": "double"}`, `the sent config of m: the model is called "n", not "m"`},
		"no backend":    {`{}`, "the sent config of m: neither a backend nor a platform is given, and no model file tells which"},
		"broken":        {`{"backend": `, "the sent config of m:1:12: unexpected end of JSON input"},
		"unknown field": {`{"bakend": "x"}`, `the sent config of m:1:2: unknown field "bakend", did you mean "backend"?`},
		"too long":      {strings.Repeat(" ", 5<<20), "the sent config of m has 5242880 bytes, at most 4194304 are read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := modelconfig.Override("/nowhere/m", []byte(test.text))
			if test.want == "" {
				if err != nil || d.Config.GetName() != "m" || d.Config.GetBackend() == "" {
					t.Errorf("got %v, %v", d, err)
				}
				return
			}
			if failure.Message(err) != test.want {
				t.Errorf("got %q, want %q", failure.Message(err), test.want)
			}
		})
	}
}
