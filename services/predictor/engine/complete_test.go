package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/shared/failure"
)

func TestComplete(t *testing.T) {
	lib := library(t)
	cases := map[string]struct{ file, given, want string }{
		"can batch": {"identity_fp16", ``, `max_batch_size: 4 dynamic_batching {}
			input [ { name: "x" data_type: TYPE_FP16 dims: [ 3 ] } ]
			output [ { name: "y" data_type: TYPE_FP16 dims: [ 3 ] } ]`},
		"max_batch_size is kept":            {"identity_fp32", `max_batch_size: 32`, `max_batch_size: 32 dynamic_batching {}` + fp32},
		"a batch of one needs no scheduler": {"identity_fp32", `max_batch_size: 1`, `max_batch_size: 1` + fp32},
		"the scheduler is kept": {
			"identity_fp32", `dynamic_batching { max_queue_delay_microseconds: 7 }`,
			`max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 7 }` + fp32,
		},
		"can't batch": {"fixed_batch", ``, `
			input [ { name: "x" data_type: TYPE_FP32 dims: [ 1, 3 ] } ]
			output [ { name: "y" data_type: TYPE_FP32 dims: [ 1, 3 ] } ]`},
		"an output can't batch": {"batch_last", ``, `
			input [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 1000 ] } ]
			output [ { name: "y" data_type: TYPE_FP32 dims: [ 1000, -1 ] } ]`},
		"nothing beside the batch": {"vector", ``, `max_batch_size: 4 dynamic_batching {}
			input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] reshape {} } ]
			output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape {} } ]`},
		"outputs only": {
			"identity_fp32", `max_batch_size: 2 input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]`,
			`max_batch_size: 2 dynamic_batching {}` + fp32,
		},
		"outputs only, dims without a batch": {
			"identity_fp32", `input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]`,
			`max_batch_size: 4 dynamic_batching {}` + fp32,
		},
		"inputs only, dims with a batch": {
			"identity_fp32", `output [ { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]`, `
			input [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]
			output [ { name: "y" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]`,
		},
		"inputs only, a reshape": {
			"vector", `output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape {} } ]`, `max_batch_size: 4 dynamic_batching {}
			input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] reshape {} } ]
			output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape {} } ]`,
		},
		"complete already": {"identity_fp32", fp32, fp32},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := testModel(t, c.file, c.given)
			if err := lib.Complete(cfg, "testdata"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(testModel(t, c.file, c.want), cfg, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What Complete makes can be loaded.
func TestCompleteThenLoad(t *testing.T) {
	lib := library(t)
	for _, file := range []string{"identity_string", "dynamic_fp32", "vector", "two_inputs", "unbatched", "fixed_batch"} {
		t.Run(file, func(t *testing.T) {
			cfg := testModel(t, file, "")
			if err := lib.Complete(cfg, "testdata"); err != nil {
				t.Fatal(err)
			}
			load(t, cfg)
		})
	}
}

func TestCompleteRefuses(t *testing.T) {
	lib := library(t)
	cases := map[string]struct{ file, given, want string }{
		"a batch that the model can't have": {"fixed_batch", `max_batch_size: 8`, `max_batch_size is 8, but the model has a tensor whose first dimension is fixed`},
		"no file":                           {"nothing", ``, `there is no file nothing.onnx`},
		"no shape":                          {"scalar_output", ``, `the file does not say the shape of "y"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wantFailure(t, lib.Complete(testModel(t, c.file, c.given), "testdata"), failure.Invalid, c.want)
		})
	}
}
