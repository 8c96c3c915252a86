package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

func parsed(t *testing.T, text string) *inference.ModelConfig {
	t.Helper()
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name = "m"
	return cfg
}

// spots are the placements of a plan, such as "cuda:0 x2".
func spots(p plan) string {
	var all []string
	for _, place := range p.placements {
		text := place.device.String()
		if place.count > 0 {
			text += " x" + string(rune('0'+place.count))
		}
		if place.wish {
			text += " if possible"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// Triton's rules for instance groups, on a machine with two GPUs.
func TestPlace(t *testing.T) {
	const accelerated = ` optimization { execution_accelerators { gpu_execution_accelerator [ { name: "tensorrt" } ] } }`
	cases := map[string]struct {
		groups, device string
		want, asked    string
	}{
		"nothing said":                    {``, "cpu", "cpu", "cpu"},
		"nothing said, auto":              {``, "auto", "cuda:0 if possible, cuda:1 if possible", "auto"},
		"nothing said, every GPU":         {``, "cuda", "cuda:0, cuda:1", "cuda"},
		"nothing said, one GPU":           {``, "cuda:1", "cuda:1", "cuda:1"},
		"nothing said, TensorRT":          {``, "tensorrt:0", "tensorrt:0", "tensorrt:0"},
		"AUTO on a CPU":                   {`instance_group [ { count: 3 kind: KIND_AUTO gpus: [ 0 ] } ]`, "cpu", "cpu x3", "cpu"},
		"CPU beside GPUs":                 {`instance_group [ { count: 3 kind: KIND_CPU } ]`, "cuda", "cpu x3", "cpu"},
		"MODEL is up to us":               {`instance_group [ { kind: KIND_MODEL } ]`, "auto", "cuda:0 if possible, cuda:1 if possible", "auto"},
		"GPU without a list, auto":        {`instance_group [ { count: 2 kind: KIND_GPU } ]`, "auto", "cuda:0 x2, cuda:1 x2", "cuda"},
		"GPU with a list":                 {`instance_group [ { count: 2 kind: KIND_GPU gpus: [ 1 ] } ]`, "cuda", "cuda:1 x2", "cuda"},
		"the list goes before the device": {`instance_group [ { kind: KIND_GPU gpus: [ 0 ] } ]`, "cuda:1", "cuda:0", "cuda:1"},
		"groups on one device":            {`instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0 ] }, { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] } ]`, "cuda", "cuda:0 x3, cuda:1 x2", "cuda"},
		"CPU and GPU":                     {`instance_group [ { count: 1 kind: KIND_CPU }, { count: 2 kind: KIND_GPU gpus: [ 1 ] } ]`, "auto", "cpu x1, cuda:1 x2", "cpu,cuda"},
		"passive ones do not count":       {`instance_group [ { count: 1 kind: KIND_CPU passive: true }, { count: 2 kind: KIND_CPU } ]`, "cpu", "cpu x2", "cpu"},
		"GPU of a service without":        {`instance_group [ { kind: KIND_GPU } ]`, "cpu", "cuda:0, cuda:1", "cuda"},
		"TensorRT by its accelerator":     {`instance_group [ { kind: KIND_GPU gpus: [ 0 ] } ]` + accelerated, "cuda", "tensorrt:0", "tensorrt"},
		"an accelerator on a CPU":         {accelerated, "cpu", "cpu", "cpu"},
		"host policy is a hint":           {`instance_group [ { count: 1 host_policy: "numa0" rate_limiter { priority: 2 } } ]`, "cpu", "cpu x1", "cpu"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			device, err := ParseDevice(c.device)
			if err != nil {
				t.Fatal(err)
			}
			got, err := place(parsed(t, c.groups), device, 2)
			if err != nil {
				t.Fatal(err)
			}
			if spots(got) != c.want || got.asked != c.asked {
				t.Errorf("%q asked as %q, want %q as %q", spots(got), got.asked, c.want, c.asked)
			}
		})
	}
	t.Run("GPUs that nobody can count", func(t *testing.T) {
		got, err := place(parsed(t, `instance_group [ { kind: KIND_GPU } ]`), Device{Kind: Auto}, 0)
		if err != nil || spots(got) != "cuda:0" {
			t.Errorf("%q, error %v", spots(got), err)
		}
	})
}

func TestPlaceRefuses(t *testing.T) {
	group := func(fields string) *inference.ModelConfig { return parsed(t, `instance_group [ { `+fields+` } ]`) }
	accelerators := func(list string) *inference.ModelConfig {
		return parsed(t, `optimization { execution_accelerators { `+list+` } }`)
	}
	cases := map[string]struct {
		cfg  *inference.ModelConfig
		kind failure.Kind
		want string
	}{
		"all passive":       {group(`passive: true`), failure.Invalid, `model "m": every instance_group is passive`},
		"OpenVINO":          {accelerators(`cpu_execution_accelerator [ { name: "openvino" } ]`), failure.Unsupported, `the CPU accelerator "openvino" is not supported`},
		"OpenVINO misspelt": {accelerators(`cpu_execution_accelerator [ { name: "open_vino" } ]`), failure.Invalid, `unknown CPU accelerator "open_vino", did you mean "openvino"?`},
		"TensorRT misspelt": {accelerators(`gpu_execution_accelerator [ { name: "TensorRT" } ]`), failure.Invalid, `unknown GPU accelerator "TensorRT", did you mean "tensorrt"?`},
		"CUDA misspelt":     {accelerators(`gpu_execution_accelerator [ { name: "cudnn" } ]`), failure.Invalid, `unknown GPU accelerator "cudnn", did you mean "cuda"?`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := place(c.cfg, Device{Kind: CPU}, 0)
			if failure.KindOf(err) != c.kind || !strings.Contains(failure.Message(err), c.want) {
				t.Errorf("%s: %v, want %s: %s", failure.KindOf(err), err, c.kind, c.want)
			}
		})
	}
}

func TestHintsThatHaveNoEffectAreNamed(t *testing.T) {
	cfg := parsed(t, `instance_group [ { host_policy: "a" }, { host_policy: "b" rate_limiter { priority: 1 } } ]
		optimization { priority: PRIORITY_MAX eager_batching: true cuda { graphs: true } }`)
	want := []string{"instance_group.host_policy", "instance_group.rate_limiter.priority", "optimization.cuda", "optimization.eager_batching", "optimization.priority"}
	if diff := cmp.Diff(want, ignored(cfg)); diff != "" {
		t.Error(diff)
	}
}
