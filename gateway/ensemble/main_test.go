package ensemble_test

import (
	"context"
	"sync/atomic"
	"testing"

	"triptych/gateway/ensemble"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// steps is where steps are served, made of functions and maps.
type steps struct {
	infer      func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)
	configs    func(name, version string) (*inference.ModelConfig, error)
	generation atomic.Uint64
	asked      atomic.Int64 // for configurations
}

func (s *steps) Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, string, error) {
	resp, err := s.infer(ctx, req)
	return resp, "predictor:8001", err
}

func (s *steps) Config(name, version string) (*inference.ModelConfig, error) {
	s.asked.Add(1)
	return s.configs(name, version)
}

func (s *steps) Generation() uint64 { return s.generation.Load() }

// mapConfig is the configuration of a model of servertest.Map.
func mapConfig(backend string) *inference.ModelConfig {
	return &inference.ModelConfig{
		Backend: backend, MaxBatchSize: 8,
		Input:  []*inference.ModelInput{{Name: "x", DataType: inference.DataType_TYPE_FP32, Dims: []int64{2}}},
		Output: []*inference.ModelOutput{{Name: "y", DataType: inference.DataType_TYPE_FP32, Dims: []int64{2}}},
	}
}

func served(name, _ string) (*inference.ModelConfig, error) {
	if name == "away" {
		return nil, failure.New(failure.Unavailable, "predictor:8001 is not available")
	}
	return mapConfig("b-" + name), nil
}

// chain is the configuration of an ensemble of steps in a row: "x" goes in and "y"
// comes out, as of each step.
func chain(models ...string) string {
	text := `platform: "ensemble"
max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 2 }
output { name: "y" data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling {
`
	from := "x"
	for i, m := range models {
		to := "after " + m
		if i == len(models)-1 {
			to = "y"
		}
		text += `step { model_name: "` + m + `" model_version: -1 input_map { key: "x" value: "` + from + `" } output_map { key: "y" value: "` + to + `" } }` + "\n"
		from = to
	}
	return text + "}\n"
}

// load serves ensembles, by name, over steps.
func load(t *testing.T, s *steps, tel *telemetry.Telemetry, configs map[string]string) (*modelserver.Service, *modelserver.Registry) {
	t.Helper()
	files := map[string]string{}
	for name, text := range configs {
		files[name+"/config.pbtxt"] = text
	}
	r := servertest.NewRegistry(t, tel, []string{servertest.Repository(t, files)}, ensemble.NewBackend(s, tel))
	if err := r.LoadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return modelserver.NewService(modelserver.Info{}, r, true), r
}
