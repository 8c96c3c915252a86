package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/pipeline"
)

const (
	in  = `input { name: "IN" data_type: TYPE_FP32 dims: 2 } `
	out = `output { name: "OUT" data_type: TYPE_FP32 dims: 2 } `
)

// step is a step with one input and one output, both called x and y by the model.
func step(model, from, to string) string {
	return fmt.Sprintf(`step { model_name: %q model_version: -1 input_map { key: "x" value: %q } output_map { key: "y" value: %q } } `, model, from, to)
}

func steps(s ...string) string { return "ensemble_scheduling { " + strings.Join(s, "") + "}" }

func TestCompile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		kind   failure.Kind
		want   string
	}{
		"unknown tensor": {
			in + out + steps(step("a", "IN", "t"), step("b", "tt", "OUT")), failure.Invalid,
			`step "b" wants the tensor "tt" for its input "x", but no step gives it and it is no input of the ensemble`,
		},
		"two writers": {
			in + out + steps(step("a", "IN", "OUT"), step("b", "IN", "OUT")), failure.Invalid,
			`the tensor "OUT" is written by step "a" and by step "b"`,
		},
		"one writes twice": {
			in + out + steps(`step { model_name: "a" input_map { key: "x" value: "IN" } output_map [ { key: "y" value: "OUT" }, { key: "z" value: "OUT" } ] }`), failure.Invalid,
			`the tensor "OUT" is written by step "a" and by step "a"`,
		},
		"writer of an input": {
			in + out + steps(step("a", "IN", "OUT"), step("b", "OUT", "IN")), failure.Invalid,
			`step "b" writes the tensor "IN", which is an input of the ensemble`,
		},
		"unused input": {
			in + `input { name: "MORE" data_type: TYPE_FP32 dims: 1 }` + out + steps(step("a", "IN", "OUT")), failure.Invalid,
			`no step takes the input "MORE" of the ensemble`,
		},
		"missing output": {
			in + out + steps(step("a", "IN", "other")), failure.Invalid,
			`no step gives the output "OUT" of the ensemble`,
		},
		"input as output": {
			in + `output { name: "IN" data_type: TYPE_FP32 dims: 2 }` + steps(step("a", "IN", "other")), failure.Invalid,
			`no step gives the output "IN" of the ensemble`,
		},
		"self-cycle": {
			in + out + steps(step("a", "IN", "OUT"), step("b", "t", "t")), failure.Invalid,
			`step "b" waits for its own output`,
		},
		"cycle of two": {
			in + out + steps(step("a", "IN", "OUT"), step("b", "u", "t"), step("c", "t", "u")), failure.Invalid,
			`the steps "b", "c" wait for each other: the graph has a cycle`,
		},
		"who waits behind a cycle is not named": {
			in + out + steps(
				`step { model_name: "a" input_map [ { key: "x" value: "IN" }, { key: "z" value: "u" } ] output_map { key: "y" value: "t" } }`,
				step("b", "t", "u"), step("c", "u", "v"), step("d", "v", "OUT"),
			), failure.Invalid,
			`the steps "a", "b" wait for each other: the graph has a cycle`,
		},
		"namespace": {
			in + out + steps(`step { model_name: "a" model_namespace: "team" input_map { key: "x" value: "IN" } output_map { key: "y" value: "OUT" } }`), failure.Unsupported,
			`step "a": model_namespace is not supported`,
		},
		"too many steps": {
			in + out + steps(strings.Repeat(step("a", "IN", "OUT"), 129)), failure.Invalid,
			`the ensemble has 129 steps, at most 128 are allowed`,
		},
		"one step":                     {in + out + steps(step("a", "IN", "OUT")), 0, ""},
		"same model twice":             {in + out + steps(step("a", "IN", "t"), step("a", "t", "OUT")), 0, ""},
		"an output that nobody takes":  {in + out + steps(step("a", "IN", "OUT"), step("b", "IN", "spare")), 0, ""},
		"chain":                        {chain, 0, ""},
		"diamond":                      {diamond, 0, ""},
		"as many steps as are allowed": {in + out + steps(append(spares(127), step("a", "IN", "OUT"))...), 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := pipeline.Compile(config(t, test.config))
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if p != nil || failure.KindOf(err) != test.kind || failure.Message(err) != test.want {
				t.Errorf("got %s %v, want %s %q", failure.KindOf(err), err, test.kind, test.want)
			}
		})
	}
}

func spares(n int) []string {
	var list []string
	for i := range n {
		list = append(list, step("a", "IN", fmt.Sprint("spare", i)))
	}
	return list
}

func TestSteps(t *testing.T) {
	t.Parallel()
	want := []pipeline.Step{{Model: "c", Version: "7"}, {Model: "a"}, {Model: "b"}}
	if diff := cmp.Diff(want, compile(t, chain).Steps()); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const (
		good  = `max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_FP32 dims: 2 }`
		goodC = `max_batch_size: 8 input { name: "z" data_type: TYPE_FP32 dims: -1 } output { name: "y" data_type: TYPE_FP32 dims: -1 }`
	)
	tests := map[string]struct {
		c, a, b string // of the chain's steps
		want    string
	}{
		"fits":       {goodC, good, good, ""},
		"free dims":  {goodC, good, `max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: -1 } output { name: "y" data_type: TYPE_FP32 dims: -1 }`, ""},
		"optional":   {goodC, good + `input { name: "more" data_type: TYPE_FP32 dims: 9 optional: true }`, good, ""},
		"datatype":   {goodC, good, strings.Replace(good, "TYPE_FP32", "TYPE_UINT8", 1), `tensor "first": step a gives FP32, step b wants UINT8`},
		"shape":      {goodC, good, strings.Replace(good, "dims: 2", "dims: 3", 1), `tensor "first": step a gives the shape [-1,2], step b wants [-1,3]`},
		"rank":       {goodC, good, strings.Replace(good, "dims: 2", "dims: [ 2, 1 ]", 1), `tensor "first": step a gives the shape [-1,2], step b wants [-1,2,1]`},
		"first step": {goodC, strings.Replace(good, "TYPE_FP32", "TYPE_STRING", 1), good, `tensor "IN": the ensemble's input gives FP32, step a wants BYTES`},
		"last step": {
			strings.Replace(goodC, "dims: -1 }", "dims: -1 } output { name: \"w\" data_type: TYPE_FP32 dims: 1 } #", 1) + "\n" + `output { name: "y" data_type: TYPE_FP64 dims: 2 }`,
			good, good, `tensor "OUT": step c gives FP64, the ensemble's output wants FP32`,
		},
		"batch size":     {goodC, good, strings.Replace(good, "max_batch_size: 4", "max_batch_size: 3", 1), `the ensemble has max_batch_size 4, but step "b" takes 3`},
		"no batching":    {goodC, good, strings.Replace(good, "max_batch_size: 4", "", 1), `the ensemble has max_batch_size 4, but step "b" takes 0`},
		"missing input":  {goodC, good, good + `input [ { name: "more" data_type: TYPE_FP32 dims: 9 } ]`, `step "b" wants the input "more", which its input_map leaves out`},
		"extra input":    {goodC, good, strings.Replace(good, `"x"`, `"pixels"`, 1) + `input { name: "x2" data_type: TYPE_FP32 dims: 9 optional: true }`, `step "b" wants the input "pixels", which its input_map leaves out`},
		"no such input":  {goodC, good, strings.Replace(good, `"x" data_type: TYPE_FP32 dims: 2`, `"x2" data_type: TYPE_FP32 dims: 2 optional: true`, 1), `step "b" has no input "x", it has x2`},
		"no such output": {goodC, good, strings.Replace(good, `"y"`, `"logits"`, 1), `step "b" has no output "y", it has logits`},
	}
	plan := compile(t, chain)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := plan.Check([]*inference.ModelConfig{config(t, test.c), config(t, test.a), config(t, test.b)})
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if failure.KindOf(err) != failure.Invalid || failure.Message(err) != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCheckOptionalInput(t *testing.T) {
	t.Parallel()
	plan := compile(t, `input { name: "IN" data_type: TYPE_FP32 dims: 2 optional: true } `+out+steps(step("a", "IN", "OUT")))
	needs := `input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_FP32 dims: 2 }`
	err := plan.Check([]*inference.ModelConfig{config(t, needs)})
	if want := `tensor "IN": the ensemble's input may be left out, but step a needs it`; failure.Message(err) != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := plan.Check([]*inference.ModelConfig{config(t, strings.Replace(needs, "dims: 2", "dims: 2 optional: true", 1))}); err != nil {
		t.Error(err)
	}
}
