package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	ort "github.com/yalue/onnxruntime_go"

	"triptych/shared/failure"
)

// recorder is told what the runtime would be.
type recorder struct {
	said []string
	deny string // what is refused
}

var _ target = (*recorder)(nil)

func (r *recorder) say(format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	if r.deny != "" && strings.HasPrefix(line, r.deny) {
		return errors.New("denied")
	}
	r.said = append(r.said, line)
	return nil
}

func (r *recorder) SetExecutionMode(m ort.ExecutionMode) error { return r.say("mode %s", m) }
func (r *recorder) SetGraphOptimizationLevel(l ort.GraphOptimizationLevel) error {
	return r.say("level %d", int(l))
}
func (r *recorder) SetIntraOpNumThreads(n int) error { return r.say("intra %d", n) }
func (r *recorder) SetInterOpNumThreads(n int) error { return r.say("inter %d", n) }
func (r *recorder) setArena(on bool) error           { return r.say("arena %t", on) }
func (r *recorder) SetMemPattern(on bool) error      { return r.say("pattern %t", on) }
func (r *recorder) AddSessionConfigEntry(key, value string) error {
	return r.say("%s %s", key, value)
}

func (r *recorder) appendProvider(p provider) error {
	line := p.kind
	for _, key := range slices.Sorted(maps.Keys(p.settings)) {
		line += " " + key + "=" + p.settings[key]
	}
	return r.say("%s", line)
}

// parameter is one line of a configuration.
// oneInput is an input whose shape is fixed.
const oneInput = `input { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } `

func parameter(key, value string) string {
	return fmt.Sprintf("parameters { key: %q value { string_value: %q } }\n", key, value)
}

// told is what the runtime is told for a configuration on a device with 8 cores.
func told(t *testing.T, text string, d Device) []string {
	t.Helper()
	tuning, err := tune(parsed(t, text), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var r recorder
	if err := tuning.at(8, placement{device: d}).options(d).apply(&r); err != nil {
		t.Fatal(err)
	}
	return r.said
}

// Everything that reaches ONNX Runtime, for a configuration that says nothing and
// then for each setting by what it changes. ORT-02: threads are always given.
func TestWhatTheRuntimeIsTold(t *testing.T) {
	plain := []string{
		"mode ORT_SEQUENTIAL", "level 99", "intra 4", "inter 1", "arena true", "pattern true",
		"session.inter_op.allow_spinning 0", "session.intra_op.allow_spinning 0",
	}
	cpu, cuda, trt := Device{Kind: CPU}, Device{Kind: CUDA, ID: 1}, Device{Kind: TensorRT, ID: 2}
	tensorRT := func(parameters string) string {
		return `optimization { execution_accelerators { gpu_execution_accelerator [ { name: "tensorrt" ` + parameters + ` } ] } }`
	}
	cases := map[string]struct {
		config       string
		device       Device
		gone, insead []string
	}{
		"nothing":               {``, cpu, nil, nil},
		"intra":                 {parameter("intra_op_thread_count", "3"), cpu, []string{"intra 4"}, []string{"intra 3"}},
		"intra of 0":            {parameter("intra_op_thread_count", "0"), cpu, nil, nil},
		"inter":                 {parameter("inter_op_thread_count", "2"), cpu, []string{"inter 1"}, []string{"inter 2"}},
		"inter of 0":            {parameter("inter_op_thread_count", "0"), cpu, nil, nil},
		"parallel":              {parameter("execution_mode", "1"), cpu, []string{"mode ORT_SEQUENTIAL"}, []string{"mode ORT_PARALLEL"}},
		"no arena":              {parameter("enable_mem_arena", "0"), cpu, []string{"arena true"}, []string{"arena false"}},
		"no pattern":            {parameter("enable_mem_pattern", "0"), cpu, []string{"pattern true"}, []string{"pattern false"}},
		"batches vary":          {"max_batch_size: 64 " + oneInput, cpu, nil, nil},
		"batches vary much":     {"max_batch_size: 65 " + oneInput, cpu, []string{"pattern true"}, []string{"pattern false"}},
		"two inputs":            {"max_batch_size: 8 " + oneInput + oneInput, cpu, []string{"pattern true"}, []string{"pattern false"}},
		"batches vary on a GPU": {"max_batch_size: 64 " + oneInput, cuda, []string{"intra 4", "pattern true"}, []string{"intra 1", "pattern false", "cuda device_id=1"}},
		"inputs vary":           {"max_batch_size: 8 input { name: \"x\" data_type: TYPE_FP32 dims: [ -1, 3 ] }", cpu, []string{"pattern true"}, []string{"pattern false"}},
		"spinning":              {parameter("intra_op_allow_spinning", "1"), cpu, plain[6:], []string{"session.inter_op.allow_spinning 1", "session.intra_op.allow_spinning 1"}},
		"spinning of one":       {parameter("session.intra_op.allow_spinning", "1"), cpu, plain[7:], []string{"session.intra_op.allow_spinning 1"}},
		"basic level":           {`optimization { graph { level: -1 } }`, cpu, []string{"level 99"}, []string{"level 1"}},
		"extended level":        {`optimization { graph { level: 1 } }`, cpu, []string{"level 99"}, []string{"level 2"}},
		"no optimization":       {`optimization { graph { level: 2 } }`, cpu, []string{"level 99"}, []string{"level 0"}},
		"initializers":          {parameter("session.use_device_allocator_for_initializers", "1"), cpu, nil, []string{"session.use_device_allocator_for_initializers 1"}},
		"any other entry":       {parameter("session.set_denormal_as_zero", "1") + parameter("mlas.use_lut_gemm", "1"), cpu, nil, []string{"mlas.use_lut_gemm 1", "session.set_denormal_as_zero 1"}},
		"shrinking is a run":    {parameter(shrinkKey, "cpu:0"), cpu, nil, nil},
		"a GPU's options on a CPU": {
			parameter("gpu_mem_limit", "1000") + tensorRT(`parameters { key: "precision_mode" value: "FP16" }`), cpu, nil, nil,
		},
		"CUDA": {``, cuda, []string{"intra 4"}, []string{"intra 1", "cuda device_id=1"}},
		"CUDA with Triton's numbers": {
			parameter("gpu_mem_limit", "1073741824") + parameter("arena_extend_strategy", "1") + parameter("cudnn_conv_algo_search", "0") +
				parameter("do_copy_in_default_stream", "1") + parameter("cudnn_conv_use_max_workspace", "0") + parameter("enable_cuda_graph", "1"), cuda,
			[]string{"intra 4"},
			[]string{"intra 1", "cuda arena_extend_strategy=kSameAsRequested cudnn_conv_algo_search=EXHAUSTIVE cudnn_conv_use_max_workspace=0 device_id=1 do_copy_in_default_stream=1 enable_cuda_graph=1 gpu_mem_limit=1073741824"},
		},
		"CUDA by its accelerator": {
			`optimization { execution_accelerators { gpu_execution_accelerator [ { name: "cuda"
				parameters { key: "cudnn_conv_algo_search" value: "2" } parameters { key: "gpu_mem_limit" value: "7" } parameters { key: "device_id" value: "5" } } ] } }` + parameter("gpu_mem_limit", "6"), cuda,
			[]string{"intra 4"},
			[]string{"intra 1", "cuda cudnn_conv_algo_search=DEFAULT device_id=1 gpu_mem_limit=7"},
		},
		"TensorRT": {``, trt, []string{"intra 4"}, []string{"intra 1", "tensorrt device_id=2", "cuda device_id=2"}},
		"TensorRT with its options": {
			tensorRT(`parameters { key: "precision_mode" value: "FP16" } parameters { key: "max_workspace_size_bytes" value: "1073741824" }
				parameters { key: "trt_engine_cache_enable" value: "1" } parameters { key: "trt_engine_cache_path" value: "/cache" }
				parameters { key: "trt_profile_min_shapes" value: "x:1x3" } parameters { key: "trt_profile_max_shapes" value: "x:8x3" }
				parameters { key: "trt_profile_opt_shapes" value: "x:4x3" }`) + parameter("gpu_mem_limit", "9"), trt,
			[]string{"intra 4"},
			[]string{"intra 1", "tensorrt device_id=2 trt_engine_cache_enable=1 trt_engine_cache_path=/cache trt_fp16_enable=1 trt_max_workspace_size=1073741824 trt_profile_max_shapes=x:8x3 trt_profile_min_shapes=x:1x3 trt_profile_opt_shapes=x:4x3", "cuda device_id=2 gpu_mem_limit=9"},
		},
		"TensorRT in INT8": {
			tensorRT(`parameters { key: "precision_mode" value: "INT8" } parameters { key: "int8_calibration_table_name" value: "t" } parameters { key: "int8_use_native_calibration_table" value: "0" }`), trt,
			[]string{"intra 4"},
			[]string{"intra 1", "tensorrt device_id=2 trt_int8_calibration_table_name=t trt_int8_enable=1 trt_int8_use_native_calibration_table=0", "cuda device_id=2"},
		},
		"TensorRT in BF16": {tensorRT(`parameters { key: "precision_mode" value: "BF16" }`), trt, []string{"intra 4"}, []string{"intra 1", "tensorrt device_id=2 trt_bf16_enable=1", "cuda device_id=2"}},
		"TensorRT in FP32": {tensorRT(`parameters { key: "precision_mode" value: "FP32" }`), trt, []string{"intra 4"}, []string{"intra 1", "tensorrt device_id=2", "cuda device_id=2"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := slices.DeleteFunc(slices.Clone(plain), func(line string) bool { return slices.Contains(c.gone, line) })
			want = append(want, c.insead...)
			got := told(t, c.config, c.device)
			// The order is checked only where it matters: among providers.
			if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
				t.Error(diff)
			}
			if c.device == trt && !strings.HasPrefix(got[len(got)-1], CUDA) {
				t.Errorf("CUDA does not come after TensorRT: %v", got)
			}
		})
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	accelerator := func(name, key, value string) string {
		return fmt.Sprintf(`optimization { execution_accelerators { gpu_execution_accelerator [ { name: %q parameters { key: %q value: %q } } ] } }`, name, key, value)
	}
	cases := map[string]struct{ config, want string }{
		"precision":       {accelerator("tensorrt", "precision_mode", "FP8"), `precision_mode is "FP8", must be one of FP32, FP16, BF16, INT8`},
		"TensorRT's name": {accelerator("tensorrt", "workspace", "1"), `tensorrt: unknown parameter "workspace"`},
		"a word":          {parameter("arena_extend_strategy", "2"), `arena_extend_strategy is "2", must be one of kNextPowerOfTwo, kSameAsRequested, or its number from 0`},
		"another word":    {accelerator("cuda", "cudnn_conv_algo_search", "FAST"), `cudnn_conv_algo_search is "FAST", must be one of EXHAUSTIVE, HEURISTIC, DEFAULT`},
		"unknown":         {parameter("session", "1"), `unknown parameter "session"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tune(parsed(t, c.config), Settings{})
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	t.Run("parameters of others", func(t *testing.T) {
		if _, err := tune(parsed(t, parameter("batch_policy", "triton")), Settings{}); err != nil {
			t.Error(err)
		}
	})
	for _, what := range []string{"mode", "session.intra", "cuda"} {
		t.Run("by the runtime: "+what, func(t *testing.T) {
			tuning, err := tune(parsed(t, ""), Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if err := tuning.at(1, placement{}).options(Device{Kind: CUDA}).apply(&recorder{deny: what}); err == nil {
				t.Error("no error")
			}
		})
	}
}

// ORT-01: what the runtime is told follows the quota of the container.
func TestThreadsFollowTheQuota(t *testing.T) {
	for limit, want := range map[string]string{
		"max 100000": "intra 32", "50000 100000": "intra 1", "150000 100000": "intra 1", "200000 100000": "intra 1", "800000 100000": "intra 4",
	} {
		t.Run(limit, func(t *testing.T) {
			system := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/cpu.max": {Data: []byte(limit + "\n")}}
			tuning, err := tune(parsed(t, ""), Settings{})
			if err != nil {
				t.Fatal(err)
			}
			var r recorder
			if err := tuning.at(quota(system, 64), placement{}).options(Device{Kind: CPU}).apply(&r); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(r.said, want) || !slices.Contains(r.said, "inter 1") {
				t.Errorf("told %v, want %s", r.said, want)
			}
		})
	}
}

// What is recorded is what the real options hold.
func TestEntriesReachTheRuntime(t *testing.T) {
	lib := openLibrary(t)
	defer func() { _ = lib.Close() }()
	tuning, err := tune(parsed(t, parameter("session.set_denormal_as_zero", "1")), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	held, err := tuning.at(2, placement{}).options(Device{Kind: CPU}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer discard(held)
	for key, want := range map[string]string{"session.set_denormal_as_zero": "1", "session.intra_op.allow_spinning": "0", "session.inter_op.allow_spinning": "0"} {
		if got, err := held.GetSessionConfigEntry(key); err != nil || got != want {
			t.Errorf("%s is %q, error %v", key, got, err)
		}
	}
}
