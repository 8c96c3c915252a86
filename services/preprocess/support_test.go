package preprocess_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"

	"triptych/proto/inference"
	"triptych/services/preprocess"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// read is a file of the repository.
func read(tb testing.TB, elements ...string) []byte {
	tb.Helper()
	data, err := os.ReadFile(testkit.Path(tb, elements...))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func image(tb testing.TB, file string) []byte {
	tb.Helper()
	return read(tb, "testdata", "images", file)
}

func caseImage(tb testing.TB, file string) []byte {
	tb.Helper()
	return read(tb, "testdata", "cases", "images", file)
}

func parse(tb testing.TB, text string) *inference.ModelConfig {
	tb.Helper()
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// sample is the configuration of the sample model.
func sample(tb testing.TB) *inference.ModelConfig {
	tb.Helper()
	cfg := parse(tb, string(read(tb, "models", "imagenet_preprocess", "config.pbtxt")))
	cfg.Name = "imagenet_preprocess"
	return cfg
}

// float32s is the same for a model that wants FP32 in planes.
func float32s(tb testing.TB) *inference.ModelConfig {
	tb.Helper()
	return parse(tb, `
		name: "floats" backend: "image" max_batch_size: 8
		input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
		output [ { name: "image" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
		parameters [
			{ key: "size" value { string_value: "256" } },
			{ key: "layout" value { string_value: "NCHW" } },
			{ key: "mean" value { string_value: "0.485, 0.456, 0.406" } },
			{ key: "std" value { string_value: "0.229, 0.224, 0.225" } }
		]`)
}

func backend(tb testing.TB, config preprocess.Config, tel *telemetry.Telemetry) modelserver.Backend {
	tb.Helper()
	b, err := preprocess.NewBackend(config, tel)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// load makes a model ready, with default limits unless there is a change.
func load(tb testing.TB, cfg *inference.ModelConfig, tel *telemetry.Telemetry) modelserver.TimedModel {
	tb.Helper()
	m, err := backend(tb, preprocess.DefaultConfig(), tel).Load(context.Background(), modelserver.Spec{Config: cfg, Version: 1})
	if err != nil {
		tb.Fatal(err)
	}
	timed, ok := m.(modelserver.TimedModel)
	if !ok {
		tb.Fatal("the model is not timed")
	}
	return timed
}

// request holds images as a batch.
func request(images ...[]byte) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{
		Name: "IMAGE", Datatype: oip.Bytes, Shape: []int64{int64(len(images)), 1}, Data: oip.JoinStrings(images...),
	})
	return req
}

// infer wants an answer.
func infer(tb testing.TB, m modelserver.Model, req *inference.ModelInferRequest) oip.Tensor {
	tb.Helper()
	resp, err := m.Infer(context.Background(), req)
	if err != nil {
		tb.Fatal(err)
	}
	out, ok := oip.Output(resp, "image")
	if !ok {
		tb.Fatal("the answer has no output \"image\"")
	}
	return out
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
