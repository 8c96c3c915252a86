package postprocess_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"triptych/services/postprocess"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

func TestConfig(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want int
		err  string
	}{
		{"default", nil, 10_000, ""},
		{"flag", []string{"--max-top-k=7"}, 7, ""},
		{"zero", []string{"--max-top-k=0"}, 0, "--max-top-k is 0, must be 1 or more"},
		{"negative", []string{"--max-top-k=-1"}, 0, "--max-top-k is -1, must be 1 or more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := postprocess.DefaultConfig()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			cfg.RegisterFlags(flags)
			if err := flags.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			backend, err := postprocess.NewBackend(cfg, telemetry.Discard())
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error = %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || cfg.MaxTopK != tt.want || backend.Name() != "classification" {
				t.Errorf("error %v, MaxTopK %d, want %d", err, cfg.MaxTopK, tt.want)
			}
		})
	}
}

func TestNewBackendWithoutTelemetry(t *testing.T) {
	if _, err := postprocess.NewBackend(postprocess.DefaultConfig(), nil); err == nil {
		t.Error("no error")
	}
}

func TestLoadAfterTheCallerHasGone(t *testing.T) {
	backend, err := postprocess.NewBackend(postprocess.DefaultConfig(), telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backend.Load(ctx, modelserver.Spec{}); failure.KindOf(err) != failure.Cancelled {
		t.Errorf("error = %v, want Cancelled", err)
	}
}

// what replaces a part of threeClasses by something else.
func what(old, by string) string { return strings.Replace(threeClasses, old, by, 1) }

func TestLoadRefuses(t *testing.T) {
	const parameter = "\n parameters [ { key: %q value { string_value: %q } } ]"
	with := func(key, value string) string {
		return threeClasses + strings.Replace(strings.Replace(parameter, "%q", `"`+key+`"`, 1), "%q", `"`+value+`"`, 1)
	}
	tests := []struct {
		name, config, labels string
		want                 []string // every text in the message
	}{
		{"REP-09 999 labels", threeClasses, "ant\nbee\n", []string{`"labels.txt" has 2 labels`, `input "logits" has 3 classes`}},
		{"REP-09 1001 labels", threeClasses, "background\n" + threeLabels, []string{"has 4 labels", "3 classes", `"labels_offset" to "1"`}},
		{"offset too great", with("labels_offset", "1"), threeLabels, []string{"has 3 labels", "3 classes", "labels_offset is 1"}},
		{"offset negative", with("labels_offset", "-1"), threeLabels, []string{`parameter "labels_offset"`, "-1"}},
		{"no labels at all", threeClasses, "", []string{"has 0 labels", "3 classes"}},
		{"REP-09 labels file absent", what("labels.txt", "names.txt"), threeLabels, []string{`output "LABEL"`, `label_filename "names.txt" can't be opened`}},
		{"REP-09 labels file not named", what(`label_filename: "labels.txt"`, ""), threeLabels, []string{`output "LABEL"`, "needs a label_filename"}},
		{"activation", with("activation", "softmaks"), threeLabels, []string{`parameter "activation"`, "softmax, sigmoid, none", `did you mean "softmax"`}},
		{"unknown parameter", with("activtion", "none"), threeLabels, []string{`unknown parameter "activtion"`, `did you mean "activation"`}},
		{"top_k is 0", with("top_k", "0"), threeLabels, []string{`parameter "top_k"`, "from 1 to 3"}},
		{"top_k against dims", with("top_k", "3"), threeLabels, []string{`parameter "top_k"`, "is 3", `output "LABEL" has dims for 2`}},
		{"two inputs", threeClasses + ` input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]`, threeLabels, []string{"has 2 inputs"}},
		{"input datatype", what("TYPE_FP32 dims: [ 3 ]", "TYPE_INT64 dims: [ 3 ]"), threeLabels, []string{`input "logits"`, "TYPE_INT64", "TYPE_FP32"}},
		{"input of two dimensions", what("dims: [ 3 ]", "dims: [ 3, 2 ]"), threeLabels, []string{`input "logits"`, "[3,2]"}},
		{"input of free dims", what("dims: [ 3 ]", "dims: [ -1 ]"), threeLabels, []string{`input "logits"`, "[-1]"}},
		{"input without dims", what("dims: [ 3 ]", ""), threeLabels, []string{`input "logits"`, "[]"}},
		{"no output", `name: "post" input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]`, threeLabels, []string{"has no output"}},
		{"output datatype", what("TYPE_INT32", "TYPE_INT64"), threeLabels, []string{`output "CLASS"`, "TYPE_INT64"}},
		{"two outputs of scores", what("TYPE_INT32", "TYPE_FP32"), threeLabels, []string{`outputs "SCORE" and "CLASS" both have data_type TYPE_FP32`}},
		{"outputs that differ", what("TYPE_INT32 dims: [ 2 ]", "TYPE_INT32 dims: [ 1 ]"), threeLabels, []string{`"LABEL" has dims for 2`, `"CLASS" for 1`}},
		{"output dims", what("TYPE_FP32 dims: [ 2 ]", "TYPE_FP32 dims: [ 2, 2 ]"), threeLabels, []string{`output "SCORE"`, "[2,2]"}},
		{"output dims of 0", what("TYPE_FP32 dims: [ 2 ]", "TYPE_FP32 dims: [ 0 ]"), threeLabels, []string{`output "SCORE"`, "[0]"}},
		{"more in outputs than classes", strings.ReplaceAll(threeClasses, "[ 2 ]", "[ 5 ]"), threeLabels, []string{`output "LABEL" has dims for 5`, `input "logits" has only 3`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.config, tt.labels)
			if failure.KindOf(err) != failure.Invalid {
				t.Fatalf("error = %v, want Invalid", err)
			}
			for _, want := range append(tt.want, `model "post"`) {
				if !strings.Contains(failure.Message(err), want) {
					t.Errorf("message %q has no %q", failure.Message(err), want)
				}
			}
		})
	}
}

func TestLoadHoldsMaxTopK(t *testing.T) {
	_, err := loadWith(t, postprocess.Config{MaxTopK: 1}, telemetry.Discard(), threeClasses, threeLabels)
	if err == nil || !strings.Contains(failure.Message(err), "--max-top-k allows 1") {
		t.Errorf("error = %v", err)
	}
}

func TestProperties(t *testing.T) {
	model := mustLoad(t, threeClasses, threeLabels)
	describer, ok := model.(modelserver.Describer)
	if !ok {
		t.Fatal("not a Describer")
	}
	want := map[string]string{"activation": "softmax", "classes": "3", "labels": "3", "top_k": "2"}
	if diff := cmp.Diff(want, describer.Properties()); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}
