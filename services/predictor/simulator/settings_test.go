package simulator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

func TestParametersAreRefusedByName(t *testing.T) {
	tests := map[string]struct {
		pairs []string
		want  string
	}{
		"negative time":         {[]string{"fixed_us", "-1"}, `parameter "fixed_us": is "-1"`},
		"no number":             {[]string{"per_item_us", "1.5"}, `parameter "per_item_us": is "1.5"`},
		"more than an hour":     {[]string{"per_item_us", "3000000000"}, `parameter "per_item_us": is 3000000000, with which a full batch takes longer than 1h0m0s`},
		"limit alone":           {[]string{"memory_limit_bytes", "10"}, `parameter "memory_limit_bytes": needs memory_per_item_bytes`},
		"memory alone":          {[]string{"memory_per_item_bytes", "10"}, `parameter "memory_per_item_bytes": needs memory_limit_bytes`},
		"not one item fits":     {[]string{"memory_limit_bytes", "10", "memory_per_item_bytes", "11"}, `parameter "memory_limit_bytes": is 10, less than memory_per_item_bytes, which is 11`},
		"never fails":           {[]string{"fail_every", "0"}, `parameter "fail_every": is "0"`},
		"unknown way to fail":   {[]string{"fail_every", "2", "fail_with", "hank"}, `parameter "fail_with": is "hank", must be one of error, hang, out_of_memory, did you mean "hang"?`},
		"fails, but when":       {[]string{"fail_with", "hang"}, `parameter "fail_with": is "hang", but neither fail_every nor poison says when`},
		"hangs, but fails":      {[]string{"fail_every", "2", "hang_us", "5"}, `parameter "hang_us": is given, but fail_with is "error"`},
		"poison is not a byte":  {[]string{"poison", "256"}, `parameter "poison": is "256"`},
		"echo of another shape": {[]string{"echo", "true"}, `parameter "echo": output "y" must have the data_type and the dims of input "x"`},
		"unknown":               {[]string{"fixed", "1"}, `unknown parameter "fixed"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, with(plain, tt.pairs...))
			if failure.KindOf(err) != failure.Invalid || !strings.HasPrefix(failure.Message(err), `model "standin": `+tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestConfigurationsThatCannotBeSimulated(t *testing.T) {
	tests := map[string]struct{ config, want string }{
		"no tensors":         {`name: "standin" backend: "simulator"`, "must name at least one input and one output"},
		"too many instances": {plain + `instance_group { count: 2000 }`, "asks for 2000 instances that run, must be from 1 to 1024"},
		"only passive ones":  {plain + `instance_group { count: 2 passive: true }`, "asks for 0 instances that run, must be from 1 to 1024"},
		"echo without input": {with(plain+`input { name: "x2" data_type: TYPE_FP32 dims: 3 }`, "echo", "true"), `parameter "echo"`},
		"more outputs":       {with(`name: "standin" input { name: "x" data_type: TYPE_UINT8 dims: 2 } output [ { name: "y" data_type: TYPE_UINT8 dims: 2 }, { name: "z" data_type: TYPE_UINT8 dims: 2 } ]`, "echo", "true"), `output "z" has no input in its place`},
		"a batcher's fault":  {strings.Replace(plain, "max_batch_size: 8", "max_batch_size: 8 dynamic_batching { preferred_batch_size: 9 }", 1), "preferred_batch_size 9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tt.config)
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// The batcher's own parameters are no business of the device, and no fault.
func TestParametersOfTheBatcher(t *testing.T) {
	mustLoad(t, with(plain, "batch_policy", "triton"))
}

func TestProperties(t *testing.T) {
	m := mustLoad(t, with(plain, "fixed_us", "1000")+`instance_group [ { count: 2 }, { kind: KIND_GPU gpus: [ 0, 1 ] }, { count: 5 passive: true } ]`)
	want := map[string]string{"device": "simulated", "instances": "4", "fixed_us": "1000", "per_item_us": "150"}
	if diff := cmp.Diff(want, m.(modelserver.Describer).Properties()); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}
