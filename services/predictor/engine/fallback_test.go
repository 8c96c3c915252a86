package engine_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"triptych/services/predictor/engine"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// three is the input of the models of fp32.
func three() oip.Tensor {
	return oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{1, 3}, Data: floats(1, 2, 3)}
}

// ORT-09: a GPU that does not work is an error, or by policy the CPU and told
// wherever somebody looks; never silent. There is none here, so all of it runs.
func TestFallback(t *testing.T) {
	const gpu = ` instance_group [ { count: 3 kind: KIND_GPU } ]`
	policy := func(word string) string {
		return ` parameters { key: "device_fallback" value { string_value: "` + word + `" } }`
	}
	const tensorRT = ` optimization { execution_accelerators { gpu_execution_accelerator [ { name: "tensorrt" } ] } }`
	const refused = "the runtime can't use it"
	cases := map[string]struct {
		device, service, config string
		fails                   string
		asked, remark           string
		instances               int
	}{
		"error by default":                  {"cuda:0", "", "", refused, "", "", 0},
		"the service's error":               {"cuda:0", "error", gpu, refused, "", "", 0},
		"the service's policy":              {"cuda:0", "cpu", gpu, "", "cuda:0", `runs on cpu instead of cuda:0: model "identity_fp32": --device cuda:0: ` + refused, 3},
		"the model's policy":                {"auto", "error", gpu + policy("cpu"), "", "cuda", `runs on cpu instead of cuda: model "identity_fp32": --device cuda:0: ` + refused, 3},
		"the model's policy goes first":     {"cuda", "cpu", gpu + policy("error"), refused, "", "", 0},
		"TensorRT":                          {"auto", "cpu", gpu + tensorRT, "", "tensorrt", `runs on cpu instead of tensorrt: model "identity_fp32": --device tensorrt:0: ` + refused, 3},
		"TensorRT is an error, too":         {"tensorrt", "error", "", refused, "", "", 0},
		"a service without GPUs":            {"cpu", "cpu", gpu, "", "cuda", "instance_group asks for a GPU (KIND_GPU), but --device is cpu", 3},
		"a service without GPUs, error":     {"cpu", "error", gpu, "--device is cpu", "", "", 0},
		"auto asks for nothing":             {"auto", "error", "", "", "auto", "", min(engine.Cores(), 2)},
		"auto with an accelerator":          {"auto", "error", tensorRT, "", "auto", "", min(engine.Cores(), 2)},
		"the CPU that was wanted beside it": {"auto", "cpu", ` instance_group [ { count: 2 kind: KIND_CPU }, { count: 1 kind: KIND_GPU } ]`, "", "cpu,cuda", "runs on cpu instead of cpu,cuda", 3},
	}
	lib := library(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := engine.Settings{Fallback: c.service, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			var err error
			if s.Device, err = engine.ParseDevice(c.device); err != nil {
				t.Fatal(err)
			}
			session, err := lib.Load(t.Context(), testModel(t, "identity_fp32", "max_batch_size: 4"+fp32+c.config), "testdata", s)
			if c.fails != "" {
				wantFailure(t, err, failure.Invalid, c.fails)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, session)
			if got := session.Remark(); !strings.Contains(got, c.remark) || (got == "") != (c.remark == "") {
				t.Errorf("remark %q, want %q", got, c.remark)
			}
			if warned := strings.Contains(log.String(), "level=WARN"); warned != (c.remark != "") {
				t.Errorf("log:\n%s", log.String())
			}
			if session.Asked() != c.asked || !slices.Equal(session.Providers(), []string{"CPUExecutionProvider"}) || session.Instances() != c.instances {
				t.Errorf("asked %s, providers %v, %d instances, want %s and %d", session.Asked(), session.Providers(), session.Instances(), c.asked, c.instances)
			}
			run(t, session, three())
		})
	}
}

// What has no effect is told, by name.
func TestHintsAreWarnedOf(t *testing.T) {
	var log bytes.Buffer
	s := settings()
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	session, err := library(t).Load(t.Context(), testModel(t, "identity_fp32", `max_batch_size: 4 instance_group [ { host_policy: "numa0" } ]
		parameters { key: "enable_mem_arena" value { string_value: "0" } }
		parameters { key: "memory.enable_memory_arena_shrinkage" value { string_value: "cpu:0" } }`+fp32), "testdata", s)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, session)
	for _, setting := range []string{"instance_group.host_policy", "memory.enable_memory_arena_shrinkage"} {
		if !strings.Contains(log.String(), "setting="+setting) {
			t.Errorf("the log lacks %s:\n%s", setting, log.String())
		}
	}
	run(t, session, three())
}

// BAT-09: a model whose rounding depends on the whole batch is told of at load.
func TestDynamicQuantizationIsWarnedOf(t *testing.T) {
	const batched, alone = "max_batch_size: 4", "max_batch_size: 1"
	for name, c := range map[string]struct {
		file, config string
		want         bool
	}{
		"it batches":        {"dynamic_quantized", batched, true},
		"it does not batch": {"dynamic_quantized", alone, false},
		"another model":     {"identity_fp32", batched, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := settings()
			s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			session, err := library(t).Load(t.Context(), testModel(t, c.file, c.config+fp32), "testdata", s)
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, session)
			if got := strings.Contains(log.String(), "quantizes dynamically"); got != c.want {
				t.Errorf("warned %t, want %t", got, c.want)
			}
		})
	}
}
