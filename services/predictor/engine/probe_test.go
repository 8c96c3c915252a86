package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Free dimensions are probed as 1, so that a model that mixes callers is found
// although nobody knows its sizes.
func TestFreeDimensionsAreProbed(t *testing.T) {
	_, err := library(t).Load(t.Context(), testModel(t, "free_reshape", `max_batch_size: 4
		input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
		output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`), "testdata", settings())
	wantFailure(t, err, failure.Invalid, `a batch of 2 gives output "y" with shape [1,2], so that the model can't batch`)
}

// A model that does not take 1 is loaded all the same, and the log says so.
func TestModelThatDoesNotTakeTheProbe(t *testing.T) {
	var log bytes.Buffer
	s := settings()
	s.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	session, err := library(t).Load(t.Context(), testModel(t, "fours", `max_batch_size: 4
		input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
		output [ { name: "y" data_type: TYPE_FP32 dims: [ -1, 4 ] } ]`), "testdata", s)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, session)
	if got := strings.Count(log.String(), "model not probed"); got != 1 {
		t.Errorf("%d lines say that it was not probed:\n%s", got, log.String())
	}
	got := run(t, session, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{2, 4}, Data: floats(1, 2, 3, 4, 5, 6, 7, 8)})
	if want := floats(1, 2, 3, 4, 5, 6, 7, 8); !bytes.Equal(got[0].Data, want) {
		t.Errorf("answer %v", got[0])
	}
}

// What a configuration alone makes too large is refused before any memory is
// taken, in the name of the tensor.
func TestTensorsThatNobodyCanAfford(t *testing.T) {
	cases := map[string]struct{ file, config, want string }{
		"output of 2^45 rows": {
			"dynamic_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 35184372088832 ] } ]`,
			`output "y" is FP32 [-1,35184372088832], which takes 1 GiB or more for a batch of 4`,
		},
		"output whose batch is too large": {
			"dynamic_fp32", `max_batch_size: 1024
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 262144 ] } ]`,
			`output "y" is FP32 [-1,262144], which takes 1 GiB or more for a batch of 1024`,
		},
		"strings": {
			"dynamic_string", `max_batch_size: 1
			  input [ { name: "x" data_type: TYPE_STRING dims: [ -1 ] } ]
			  output [ { name: "y" data_type: TYPE_STRING dims: [ 268435456 ] } ]`,
			`output "y" is BYTES [-1,268435456], which takes 1 GiB or more`,
		},
		"more than can be counted": {
			"vector", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 4294967296, 4294967296 ] reshape { shape: [] } } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [] } } ]`,
			`input "x" is FP32 [-1,4294967296,4294967296], which takes 1 GiB or more`,
		},
		"input": {
			"dynamic_fp32", `max_batch_size: 4
			  input [ { name: "x" data_type: TYPE_FP32 dims: [ 35184372088832 ] } ]
			  output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]`,
			`input "x" is FP32 [-1,35184372088832], which takes 1 GiB or more for a batch of 1`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := library(t).Load(t.Context(), testModel(t, c.file, c.config), "testdata", settings())
			wantFailure(t, err, failure.Invalid, c.want)
		})
	}
	t.Run("just below", func(t *testing.T) {
		load(t, testModel(t, "dynamic_fp32", `max_batch_size: 1023
		  input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
		  output [ { name: "y" data_type: TYPE_FP32 dims: [ 262144 ] } ]`))
	})
	t.Run("warm-up", func(t *testing.T) {
		session := load(t, testModel(t, "identity_fp32", `max_batch_size: 4`+fp32))
		sample := config(t, `model_warmup [ { name: "f" batch_size: 4294967295 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } } ]`)
		_, err := session.WarmUp(t.Context(), sample, "")
		wantFailure(t, err, failure.Invalid, `input "x": FP32 [4294967295,3] takes 1 GiB or more`)
	})
}
