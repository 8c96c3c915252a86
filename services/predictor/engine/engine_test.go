package engine_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/services/predictor/engine"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// library opens the library that `make setup` has fetched.
func library(tb testing.TB) *engine.Library {
	tb.Helper()
	path, err := engine.Find(os.Getenv("TRIPTYCH_ONNXRUNTIME"))
	if err != nil {
		tb.Fatal(err)
	}
	lib, err := engine.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := lib.Close(); err != nil {
			tb.Error(err)
		}
	})
	return lib
}

// config reads a configuration in text form.
func config(tb testing.TB, text string) *inference.ModelConfig {
	tb.Helper()
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// testModel is a configuration for one of the files in testdata.
func testModel(tb testing.TB, file, text string) *inference.ModelConfig {
	tb.Helper()
	cfg := config(tb, text)
	cfg.Name = file
	cfg.DefaultModelFilename = file + ".onnx"
	return cfg
}

func settings() engine.Settings {
	return engine.Settings{Device: engine.Device{Kind: engine.CPU}, Logger: slog.New(slog.DiscardHandler)}
}

func load(tb testing.TB, cfg *inference.ModelConfig) *engine.Session {
	tb.Helper()
	session, err := library(tb).Load(tb.Context(), cfg, "testdata", settings())
	if err != nil {
		tb.Fatal(err)
	}
	closeLater(tb, session)
	return session
}

func closeLater(tb testing.TB, session *engine.Session) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := session.Close(); err != nil {
			tb.Error(err)
		}
	})
}

// sampleModel is the configuration of the classifier that the repository ships.
func sampleModel(tb testing.TB) (*inference.ModelConfig, string) {
	tb.Helper()
	directory := testkit.Path(tb, "models", "efficientnet_lite0")
	data, err := os.ReadFile(filepath.Join(directory, modelconfig.Filename))
	if err != nil {
		tb.Fatal(err)
	}
	cfg := config(tb, string(data))
	cfg.Name = "efficientnet_lite0"
	return cfg, directory
}

// image is a picture of noise, the same for the same seed.
func image(seed uint32, batch int64) oip.Tensor {
	shape := []int64{batch, 224, 224, 3}
	data := make([]byte, batch*224*224*3)
	state := seed*2654435761 + 1
	for i := range data {
		state = state*1664525 + 1013904223
		data[i] = byte(state >> 24)
	}
	return oip.Tensor{Name: "image", Datatype: "UINT8", Shape: shape, Data: data}
}

func clone(cfg *inference.ModelConfig) *inference.ModelConfig {
	return proto.Clone(cfg).(*inference.ModelConfig)
}

func run(tb testing.TB, session *engine.Session, inputs ...oip.Tensor) []oip.Tensor {
	tb.Helper()
	outputs, err := session.Run(context.Background(), inputs)
	if err != nil {
		tb.Fatal(err)
	}
	return outputs
}
