package modelconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/testkit"
)

// checkText parses and checks a configuration as the repository does.
func checkText(t *testing.T, text string) error {
	t.Helper()
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return modelconfig.NewDocument("config.pbtxt", []byte(text), cfg).Check()
}

// good begins every configuration of these tests; its lines are 1 to 3.
const good = `max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
output { name: "y" data_type: TYPE_FP32 dims: [ 3 ] }
`

// Each message begins with where the culprit stands.
func TestCheckTensors(t *testing.T) {
	tests := map[string]struct{ text, message string }{
		"good":              {good, ""},
		"free dims":         {"input { name: \"x\" data_type: TYPE_UINT8 format: FORMAT_NHWC dims: [ -1, -1, 3 ] }", ""},
		"batch size":        {"\n max_batch_size: -1", "config.pbtxt:2:2: max_batch_size is -1, must be 0 or more"},
		"no name":           {good + "input { data_type: TYPE_FP32 dims: 1 }", `config.pbtxt:4:1: input 1 has no name`},
		"twice":             {good + "input {\n name: \"x\" }", `config.pbtxt:5:2: input "x" is there twice`},
		"twice in one list": {"input [ { name: \"x\" data_type: TYPE_FP32 dims: 1 },\n  { name: \"x\" } ]", `config.pbtxt:2:5: input "x" is there twice`},
		"output twice":      {good + "output { dims: 3 name: \"y\" }", `config.pbtxt:4:18: output "y" is there twice`},
		"no data_type":      {"input {\n name: \"x\" dims: 1 }", `config.pbtxt:1:1: input "x" has no data_type`},
		"TYPE_INVALID":      {"input { name: \"x\" data_type: TYPE_INVALID dims: 1 }", `config.pbtxt:1:19: input "x" has no data_type`},
		"no dims":           {"output { name: \"y\" data_type: TYPE_FP32 }", `config.pbtxt:1:1: output "y" has no dims`},
		"empty dims":        {"output { name: \"y\" data_type: TYPE_FP32 dims: [ ] }", `config.pbtxt:1:41: output "y" has no dims`},
		"dim 0":             {"output { name: \"y\" data_type: TYPE_FP32\n dims: [ 3, 0 ] }", `config.pbtxt:2:2: output "y" has the dim 0, must be 1 or more, or -1 for any`},
		"dim -2":            {"input { name: \"x\" data_type: TYPE_FP32 dims: 3\ndims: -2 }", `config.pbtxt:2:1: input "x" has the dim -2, must be 1 or more, or -1 for any`},
		"format, 4 dims":    {"input { name: \"x\" data_type: TYPE_FP32 dims: [ 1, 3, 8, 8 ] format: FORMAT_NCHW }", `config.pbtxt:1:61: input "x" has the format FORMAT_NCHW, which needs 3 dims, but has 4: dims never hold the batch dimension`},
		"file above":        {"\ndefault_model_filename: \"../m.onnx\"", `config.pbtxt:2:1: default_model_filename "../m.onnx" leaves the version's directory`},
		"file by GPU above": {"cc_model_filenames { key: \"8.0\" value: \"/m.onnx\" }", `config.pbtxt:1:1: cc_model_filenames "/m.onnx" leaves the version's directory`},
		"format":            {"input { name: \"x\" data_type: TYPE_FP32 dims: 3 format: FORMAT_NCHW }", `config.pbtxt:1:48: input "x" has the format FORMAT_NCHW, which needs 3 dims, but has 1`},
		"label file above": {
			"output { name: \"y\" data_type: TYPE_FP32 dims: 3\n  # names\n  label_filename: \"../labels.txt\" }",
			`config.pbtxt:3:3: label_filename "../labels.txt" leaves the model's directory`,
		},
		"absolute label file": {"output { name: \"y\" data_type: TYPE_FP32 dims: 3 label_filename: \"/etc/passwd\" }", `config.pbtxt:1:49: label_filename "/etc/passwd" leaves the model's directory`},

		"reshape":                   {"input { name: \"x\" data_type: TYPE_FP32 dims: [ 4, 3 ] reshape { shape: [ 12 ] } }", ""},
		"reshape to a scalar":       {"max_batch_size: 1 input { name: \"x\" data_type: TYPE_FP32 dims: 1 reshape { shape: [ ] } }", ""},
		"reshape changes the count": {"input { name: \"x\" data_type: TYPE_FP32 dims: [ 4, 3 ]\n reshape { shape: [ 13 ] } }", `config.pbtxt:2:2: input "x" has 13 elements after reshape, but 12 in dims`},
		"reshape overflows":         {"input { name: \"x\" data_type: TYPE_FP32 dims: [ 4 ] reshape { shape: [ 4611686018427387904, 4 ] } }", `config.pbtxt:1:52: input "x" has 9223372036854775807 elements after reshape, but 4 in dims`},
		"scalar without a batch":    {"input { name: \"x\" data_type: TYPE_FP32 dims: 1 reshape { } }", `config.pbtxt:1:48: input "x" has an empty reshape, which needs max_batch_size > 0`},
		"reshape with a wrong dim":  {"output { name: \"y\" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 4, 0 ] } }", `config.pbtxt:1:59: output "y" has the dim 0 in its reshape, must be 1 or more, or -1 for any`},
		"gpus with KIND_CPU":        {good + "instance_group [ { kind: KIND_AUTO }, { kind: KIND_CPU gpus: [ 0 ] } ]", "config.pbtxt:4:56: instance_group of KIND_CPU can't name gpus"},
		"negative count":            {good + "instance_group { count: -1 }", "config.pbtxt:4:18: instance_group has the count -1, must be 0 or more"},
		"too many instances":        {good + "instance_group [ { count: 1000 }, { count: 25 } ]", "config.pbtxt:4:37: instance_group asks for 1025 instances, at most 1024 are taken"},
		"a policy that is none":     {good + "parameters { key: \"batch_policy\" value { string_value: \"greedy\" } }", `config.pbtxt:4:1: model "": parameter "batch_policy": is "greedy", must be one of adaptive, triton`},
		"a split that is no bool":   {good + "parameters { key: \"batch_split\" value { string_value: \"yes\" } }", `config.pbtxt:4:1: model "": parameter "batch_split": is "yes", must be true or false`},
		"version 0":                 {"version_policy { specific { versions: [ 1, 0 ] } }", "config.pbtxt:1:29: version_policy names the version 0, must be 1 or more"},
		"specific without versions": {"version_policy {\n specific { } }", "config.pbtxt:2:2: version_policy specific names no versions"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantFailure(t, checkText(t, tt.text), failure.Invalid, tt.message) })
	}
}

func TestCheckUnsupported(t *testing.T) {
	for text, message := range map[string]string{
		"\nsequence_batching { }":                            "config.pbtxt:2:1: sequence_batching is not supported",
		"model_transaction_policy { decoupled: true }":       "config.pbtxt:1:1: model_transaction_policy is not supported",
		"batch_input { }":                                    "config.pbtxt:1:1: batch_input is not supported",
		" batch_output [ { } ]":                              "config.pbtxt:1:17: batch_output is not supported",
		"model_repository_agents { agents { name: \"x\" } }": "config.pbtxt:1:1: model_repository_agents is not supported",
		"input { name: \"x\" data_type: TYPE_FP32 dims: 1\nallow_ragged_batch: true }":            "config.pbtxt:2:1: allow_ragged_batch is not supported",
		"model_operations { op_library_filename: \"ops.so\" }":                                    "config.pbtxt:1:1: model_operations is not supported",
		"instance_group {\n rate_limiter { resources { name: \"r\" count: 1 } } }":                "config.pbtxt:2:17: rate_limiter with resources is not supported",
		"instance_group { profile: \"0\" }":                                                       "config.pbtxt:1:18: profile, which is for TensorRT plans, is not supported",
		"instance_group { secondary_devices { device_id: 0 } }":                                   "config.pbtxt:1:18: secondary_devices is not supported",
		"input { name: \"x\" data_type: TYPE_FP32 dims: 1\n is_shape_tensor: true }":              "config.pbtxt:2:2: is_shape_tensor is not supported",
		"output { name: \"x\" data_type: TYPE_FP32 dims: 1\n is_non_linear_format_io: true }":     "config.pbtxt:2:2: is_non_linear_format_io is not supported",
		"parameters { key: \"a\" }\nparameters { key: \"TRITON_BATCH_STRATEGY_PATH\" value { } }": "config.pbtxt:2:1: the parameter TRITON_BATCH_STRATEGY_PATH is not supported",
		"instance_group { rate_limiter { priority: 2 } host_policy: \"numa\" }":                   "",
		"model_transaction_policy { decoupled: false }":                                           "",
	} {
		wantFailure(t, checkText(t, text), failure.Unsupported, message)
	}
}

func TestCheckBatching(t *testing.T) {
	tests := map[string]struct{ batching, message string }{
		"empty":            {"", ""},
		"preferred":        {"preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 preserve_ordering: true", ""},
		"preferred 9 of 8": {"preferred_batch_size: [ 4, 9 ]", "config.pbtxt:4:20: preferred_batch_size 9 must be from 1 to max_batch_size, which is 8"},
		"preferred 0":      {"preferred_batch_size: 0", "config.pbtxt:4:20: preferred_batch_size 0 must be from 1 to max_batch_size, which is 8"},
		"levels":           {"priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 2 value { max_queue_size: 3 } }", ""},
		"no default level": {"priority_levels: 2", "config.pbtxt:4:1: default_priority_level is 0, must be from 1 to priority_levels, which is 2"},
		"default level 3":  {"priority_levels: 2 default_priority_level: 3", "config.pbtxt:4:39: default_priority_level is 3, must be from 1 to priority_levels, which is 2"},
		"policy for 3": {
			"priority_levels: 2 default_priority_level: 1 priority_queue_policy [ { key: 1 }, { key: 3 } ]",
			"config.pbtxt:4:101: priority_queue_policy is for level 3, but priority_levels is 2",
		},
		"policy without levels": {"priority_queue_policy { key: 1 value { } }", "config.pbtxt:4:20: priority_queue_policy is for level 1, but priority_levels is 0"},
		"order and levels":      {"preserve_ordering: true priority_levels: 2 default_priority_level: 1", "config.pbtxt:4:20: preserve_ordering can't go with 2 priority_levels"},
		"order and one level":   {"preserve_ordering: true priority_levels: 1 default_priority_level: 1", ""},
		"order and delay": {
			"default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 } preserve_ordering: true",
			"config.pbtxt:4:99: preserve_ordering can't go with a timeout_action of DELAY",
		},
		"order and callers' delay": {
			"preserve_ordering: true default_queue_policy { timeout_action: DELAY allow_timeout_override: true }",
			"config.pbtxt:4:20: preserve_ordering can't go with a timeout_action of DELAY",
		},
		"order and delay without a time": {"preserve_ordering: true default_queue_policy { timeout_action: DELAY }", ""},
	}
	wantFailure(t, checkText(t, "max_batch_size: 0\n dynamic_batching { }"), failure.Invalid, // REP-06
		"config.pbtxt:2:2: dynamic_batching needs a max_batch_size of 1 or more, but it is 0: give one, or leave dynamic_batching out")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, checkText(t, good+"dynamic_batching { "+tt.batching+" }"), failure.Invalid, tt.message)
		})
	}
}

func TestCheckEnsemble(t *testing.T) {
	const ok = `model_name: "a" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" }`
	scheduled := func(steps string) string { return "platform: \"ensemble\"\nensemble_scheduling {\n" + steps + " }" }
	tests := map[string]struct{ text, message string }{
		"good":           {scheduled("step { " + ok + " } step { " + ok + " }"), ""},
		"no scheduling":  {"\nplatform: \"ensemble\"", `config.pbtxt:2:1: platform "ensemble" needs ensemble_scheduling`},
		"wrong platform": {"platform: \"onnxruntime_onnx\"\nensemble_scheduling { }", `config.pbtxt:2:1: ensemble_scheduling needs the platform "ensemble", it is "onnxruntime_onnx"`},
		"no platform":    {"ensemble_scheduling { }", `config.pbtxt:1:1: ensemble_scheduling needs the platform "ensemble", it is ""`},
		"no steps":       {scheduled(""), "config.pbtxt:2:1: the ensemble has no steps"},
		"no model_name":  {scheduled("step [ { " + ok + " },\n { } ]"), "config.pbtxt:4:2: step 1 has no model_name"},
		"no version":     {scheduled("step { model_name: \"a\" }"), "config.pbtxt:3:1: step 0 (a) has the model_version 0, must be 1 or more, or -1 for the latest"},
		"version -2":     {scheduled("step { model_name: \"a\" model_version: -2 }"), "config.pbtxt:3:24: step 0 (a) has the model_version -2, must be 1 or more, or -1 for the latest"},
		"no input_map":   {scheduled("step { model_name: \"a\" model_version: 1 }"), "config.pbtxt:3:1: step 0 (a) has no input_map"},
		"no output_map":  {scheduled("step { model_name: \"a\" model_version: 1 input_map { key: \"x\" value: \"x\" } }"), "config.pbtxt:3:1: step 0 (a) has no output_map"},
		"itself":         {"name: \"e\" " + scheduled("step {\n  model_name: \"e\" }"), "config.pbtxt:4:3: step 0 is the ensemble itself"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantFailure(t, checkText(t, tt.text), failure.Invalid, tt.message) })
	}
}

// A configuration without a text, as the load API gives it, names its source.
func TestCheckWithoutText(t *testing.T) {
	cfg, err := modelconfig.ParseJSON("config of model m", []byte(`{"max_batch_size": -1}`))
	if err != nil {
		t.Fatal(err)
	}
	err = modelconfig.NewDocument("config of model m", nil, cfg).Check()
	wantFailure(t, err, failure.Invalid, "config of model m: max_batch_size is -1, must be 0 or more")
}

// The embedded models are the first that users copy from.
func TestEmbeddedModels(t *testing.T) {
	files, err := filepath.Glob(testkit.Path(t, "models", "*", modelconfig.Filename))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d configurations (%v), want at least 5", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			d, err := modelconfig.Read(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Check(); err != nil {
				t.Error(err)
			}
			for _, out := range d.Config.GetOutput() {
				if labels := out.GetLabelFilename(); labels != "" {
					if _, err := os.Stat(filepath.Join(filepath.Dir(file), labels)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
