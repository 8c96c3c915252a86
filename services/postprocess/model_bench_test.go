package postprocess_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"triptych/proto/inference"
	"triptych/services/postprocess"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// loadFrom loads the model whose directory is dir.
func loadFrom(tb testing.TB, dir string) modelserver.Model {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(dir, modelconfig.Filename))
	if err != nil {
		tb.Fatal(err)
	}
	cfg, err := modelconfig.ParseText(modelconfig.Filename, text)
	if err != nil {
		tb.Fatal(err)
	}
	backend, err := postprocess.NewBackend(postprocess.DefaultConfig(), telemetry.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	model, err := backend.Load(tb.Context(), modelserver.Spec{Config: cfg, Version: 1, Directory: dir})
	if err != nil {
		tb.Fatal(err)
	}
	return model
}

// BenchmarkInfer answers 1000 classes of each row with the default model.
func BenchmarkInfer(b *testing.B) {
	model := loadFrom(b, testkit.Path(b, "models", "imagenet_postprocess"))
	random := rand.New(rand.NewPCG(1, 2))
	for _, batch := range []int{1, 16} {
		logits := make([]float64, batch*1000)
		for i := range logits {
			logits[i] = random.NormFloat64()
		}
		req := &inference.ModelInferRequest{}
		oip.AddInput(req, oip.Tensor{Name: "logits", Datatype: "FP32", Shape: []int64{int64(batch), 1000}, Data: fp32(logits...)})
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := model.Infer(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
