package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"triptych/proto/inference"
	"triptych/services/predictor/engine"
	"triptych/shared/failure"
)

const fp32 = `
  input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]`

// A file that does not fit its configuration is refused at load, with a
// sentence that has both sides.
func TestLoadRefuses(t *testing.T) {
	lib := library(t)
	cases := map[string]struct {
		file, config string
		kind         failure.Kind
		want         string
	}{
		"datatype": {
			"identity_int32", `max_batch_size: 4` + fp32, failure.Invalid,
			`model "identity_int32": input "x": config says FP32 [-1,3], model says INT32 [-1,3]`,
		},
		"dims": {
			"identity_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 5 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`input "x": config says FP32 [-1,5], model says FP32 [-1,3]`,
		},
		"rank": {
			"identity_fp32", `
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`input "x": config says FP32 [3], model says FP32 [-1,3]`,
		},
		"unknown input": {
			"two_inputs", `max_batch_size: 4
			  input [ { name: "z" data_type: TYPE_FP32 dims: [ 3 ] } ]
			  output [ { name: "sum" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`input "z" is not in the model, which has "a", "b"`,
		},
		"missing input": {
			"two_inputs", `max_batch_size: 4
			  input [ { name: "a" data_type: TYPE_FP32 dims: [ 3 ] } ]
			  output [ { name: "sum" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`the configuration lacks input "b", the model has "a", "b"`,
		},
		"unknown output": {
			"identity_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
			  output [ { name: "logits" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`output "logits" is not in the model, which has "y"`,
		},
		"no output": {
			"identity_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`the configuration has no output, the model has "y"`,
		},
		"batch fixed at one": {
			"fixed_batch", `max_batch_size: 8` + fp32, failure.Invalid,
			`input "x": max_batch_size is 8, but the model's first dimension is fixed at 1 (FP32 [1,3]), so that it can't batch`,
		},
		"batch hidden in a reshape": {
			"hidden_reshape", `max_batch_size: 8
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`, failure.Invalid,
			`a batch of 2 gives output "y" with shape [1,8], so that the model can't batch`,
		},
		"rows averaged over the batch": {
			"reduce_batch", `max_batch_size: 8` + fp32, failure.Invalid,
			`output "y": max_batch_size is 8, but the model's first dimension is fixed at 1`,
		},
		"batch as the last dimension": {
			"batch_last", `max_batch_size: 8
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 1000 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 1000 ] } ]`, failure.Invalid,
			`output "y": max_batch_size is 8, but the model's first dimension is fixed at 1000`,
		},
		"fp16 of unknown size": {
			"dynamic_fp16", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP16 dims: [ 2 ] } ]
			  output [ { name: "y" data_type: TYPE_FP16 dims: [ -1 ] } ]`, failure.Unsupported,
			`output "y" is FP16 [-1,-1], whose free dimensions can't be read`,
		},
		"output smaller than the model's": {
			"dynamic_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Invalid,
			`a run on zeros fails`,
		},
		"scalar":         {"scalar_output", fp32, failure.Invalid, `a run on zeros fails`},
		"complex":        {"complex64", fp32, failure.Invalid, `complex64`},
		"newer opset":    {"future_opset", `max_batch_size: 4` + fp32, failure.Invalid, `future_opset.onnx can't be loaded: it has opset 99 of ai.onnx, ONNX Runtime 1.`},
		"newer IR":       {"future_ir", `max_batch_size: 4` + fp32, failure.Invalid, `it has IR version 99, ONNX Runtime 1.`},
		"unknown domain": {"unknown_domain", `max_batch_size: 4` + fp32, failure.Invalid, `it uses the operator "com.example:Identity", whose domain is neither the runtime's nor defined in the file`},
		"no file":        {"nothing", fp32, failure.Invalid, `there is no file nothing.onnx in testdata`},
		"wrong reshape": {
			"vector", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] reshape { shape: [] } } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [] } } ]`, failure.Invalid,
			`input "x": reshape from [-1,2] to [-1] changes the number of elements`,
		},
		"optional input": {
			"identity_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] optional: true } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 3 ] } ]`, failure.Unsupported,
			`input "x": optional is not supported`,
		},
		"unknown parameter": {
			"identity_fp32", `max_batch_size: 4 parameters { key: "intra_op_threads" value { string_value: "2" } }` + fp32, failure.Invalid,
			`unknown parameter "intra_op_threads", did you mean "intra_op_thread_count"?`,
		},
		"GPU on a CPU service": {
			"identity_fp32", `max_batch_size: 4 instance_group [ { kind: KIND_GPU } ]` + fp32, failure.Invalid,
			`instance_group asks for a GPU (KIND_GPU), but --device is cpu`,
		},
		"several GPUs that are not there": {
			"identity_fp32", `max_batch_size: 4 instance_group [ { kind: KIND_GPU gpus: [ 0, 1 ] } ]` + fp32, failure.Invalid,
			`instance_group asks for a GPU (KIND_GPU), but --device is cpu`,
		},
		"OpenVINO": {
			"identity_fp32", `max_batch_size: 4 optimization { execution_accelerators { cpu_execution_accelerator [ { name: "openvino" } ] } }` + fp32, failure.Unsupported,
			`the CPU accelerator "openvino" is not supported`,
		},
		"unknown policy": {
			"identity_fp32", `max_batch_size: 4 parameters { key: "device_fallback" value { string_value: "gpu" } }` + fp32, failure.Invalid,
			`parameter "device_fallback": is "gpu", must be one of error, cpu`,
		},
		"shrink list": {
			"identity_fp32", `max_batch_size: 4 parameters { key: "memory.enable_memory_arena_shrinkage" value { string_value: "cpu" } }` + fp32, failure.Invalid,
			`parameter "memory.enable_memory_arena_shrinkage": is "cpu", must be a list such as "cpu:0;gpu:0"`,
		},
		"entry that the runtime refuses": {
			"identity_fp32", `max_batch_size: 4 parameters { key: "session.` + strings.Repeat("x", 2000) + `" value { string_value: "1" } }` + fp32, failure.Invalid,
			`the runtime refuses`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := lib.Load(t.Context(), testModel(t, c.file, c.config), "testdata", settings())
			wantFailure(t, err, c.kind, c.want)
		})
	}
}

func wantFailure(t *testing.T, err error, kind failure.Kind, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", text)
	}
	if got := failure.KindOf(err); got != kind {
		t.Errorf("kind %s, want %s: %v", got, kind, err)
	}
	if got := failure.Message(err); !strings.Contains(got, text) {
		t.Errorf("message %q\nlacks   %q", got, text)
	}
}

func TestLoadRefusesABrokenFile(t *testing.T) {
	lib := library(t)
	whole, err := os.ReadFile(filepath.Join("testdata", "identity_fp32.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		content []byte
		want    string
	}{
		"empty":     {nil, "is empty"},
		"noise":     {[]byte("this is no model at all"), "can't be loaded"},
		"truncated": {whole[:len(whole)/2], "can't be loaded"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			if err := os.WriteFile(filepath.Join(directory, "model.onnx"), c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := lib.Load(t.Context(), config(t, `name: "m" max_batch_size: 4`+fp32), directory, settings())
			wantFailure(t, err, failure.Invalid, c.want)
		})
	}
}

// To open a pipe waits for its writer, for ever when there is none.
func TestPipesAreNotRead(t *testing.T) {
	directory := t.TempDir()
	if err := os.Mkdir(filepath.Join(directory, "warmup"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.onnx", filepath.Join("warmup", "x.bin")} {
		if err := syscall.Mkfifo(filepath.Join(directory, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := library(t).Load(t.Context(), config(t, `name: "m" max_batch_size: 4`+fp32), directory, settings())
	wantFailure(t, err, failure.Invalid, "model.onnx is not a regular file")
	session := load(t, testModel(t, "identity_fp32", `max_batch_size: 4`+fp32))
	sample := config(t, `model_warmup [ { name: "f" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "x.bin" } } } ]`)
	_, err = session.WarmUp(t.Context(), sample, directory)
	wantFailure(t, err, failure.Invalid, "the file warmup/x.bin is not a regular file")
}

func TestLoadStaysInTheVersionDirectory(t *testing.T) {
	cfg := config(t, `name: "m" max_batch_size: 4 default_model_filename: "../testdata/identity_fp32.onnx"`+fp32)
	_, err := library(t).Load(t.Context(), cfg, "testdata", settings())
	wantFailure(t, err, failure.Invalid, "leaves the version's directory")
}

// A directory of the file's name holds the file, as Triton has it for models
// with external weights.
func TestLoadOfADirectory(t *testing.T) {
	directory := t.TempDir()
	content, err := os.ReadFile(filepath.Join("testdata", "identity_fp32.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(directory, "model.onnx"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "model.onnx", "model.onnx"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	session, err := library(t).Load(t.Context(), config(t, `name: "m" max_batch_size: 4`+fp32), directory, settings())
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, session)
}

// A GPU that was asked for and is not there is an error; auto goes on without.
func TestDeviceThatIsNotThere(t *testing.T) {
	lib := library(t)
	cfg := testModel(t, "identity_fp32", `max_batch_size: 4`+fp32)
	for _, text := range []string{"cuda:0", "tensorrt:1"} {
		t.Run(text, func(t *testing.T) {
			device, err := engine.ParseDevice(text)
			if err != nil {
				t.Fatal(err)
			}
			s := settings()
			s.Device = device
			_, err = lib.Load(t.Context(), cfg, "testdata", s)
			wantFailure(t, err, failure.Invalid, "--device "+text+": the runtime can't use it")
		})
	}
	t.Run("auto", func(t *testing.T) {
		s := settings()
		s.Device = engine.Device{Kind: engine.Auto}
		session, err := lib.Load(t.Context(), cfg, "testdata", s)
		if err != nil {
			t.Fatal(err)
		}
		closeLater(t, session)
		if got := session.Device().Provider(); got != "CPUExecutionProvider" {
			t.Errorf("provider %s", got)
		}
	})
	t.Run("auto with KIND_GPU", func(t *testing.T) {
		s := settings()
		s.Device = engine.Device{Kind: engine.Auto}
		gpu := clone(cfg)
		gpu.InstanceGroup = []*inference.ModelInstanceGroup{{Kind: inference.ModelInstanceGroup_KIND_GPU}}
		_, err := lib.Load(t.Context(), gpu, "testdata", s)
		wantFailure(t, err, failure.Invalid, "--device cuda:0: the runtime can't use it")
	})
}

func TestLoadStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := library(t).Load(ctx, testModel(t, "identity_fp32", `max_batch_size: 4`+fp32), "testdata", settings())
	wantFailure(t, err, failure.Cancelled, "the caller has gone")
}

func TestInstances(t *testing.T) {
	lib := library(t)
	cases := map[string]struct {
		config             string
		instances, threads int
	}{
		"one group":       {`instance_group [ { count: 3 kind: KIND_CPU } ] parameters { key: "intra_op_thread_count" value { string_value: "2" } }`, 3, 2},
		"groups add up":   {`instance_group [ { count: 1 }, { count: 2 } ] parameters { key: "intra_op_thread_count" value { string_value: "1" } }`, 3, 1},
		"more than cores": {`instance_group [ { count: 512 } ]`, 512, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			session, err := lib.Load(t.Context(), testModel(t, "identity_fp32", "max_batch_size: 4 "+c.config+fp32), "testdata", settings())
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, session)
			if session.Instances() != c.instances || session.Threads() != c.threads {
				t.Errorf("%d instances with %d threads, want %d with %d", session.Instances(), session.Threads(), c.instances, c.threads)
			}
		})
	}
}
