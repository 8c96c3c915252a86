package simulator_test

import (
	"context"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/services/predictor/batcher"
	"triptych/services/predictor/simulator"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// plain is a model of vectors of two bytes.
const plain = `
	name: "standin" backend: "simulator" max_batch_size: 8
	input { name: "x" data_type: TYPE_UINT8 dims: 2 }
	output { name: "y" data_type: TYPE_FP32 dims: 3 }
`

// with adds parameters, given as key, value, key, value.
func with(config string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		config += ` parameters { key: "` + pairs[i] + `" value { string_value: "` + pairs[i+1] + `" } }`
	}
	return config
}

// load loads a configuration; its time is Go's, so that it can be simulated too.
func load(t *testing.T, config string) (modelserver.TimedModel, error) {
	t.Helper()
	return loadBy(t, simulator.Config{MaxQueueSize: 100, GoTimers: true}, config)
}

func loadBy(t *testing.T, cfg simulator.Config, config string) (modelserver.TimedModel, error) {
	t.Helper()
	parsed, err := modelconfig.ParseText("config.pbtxt", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.Discard()
	metrics, err := batcher.NewMetrics(tel.Registry)
	if err != nil {
		t.Fatal(err)
	}
	m, err := simulator.NewBackend(cfg, tel, metrics).Load(t.Context(), modelserver.Spec{Config: parsed, Version: 1, Directory: t.TempDir()})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m.(modelserver.TimedModel), nil
}

func mustLoad(t *testing.T, config string) modelserver.TimedModel {
	t.Helper()
	m, err := load(t, config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rows is a request for plain whose rows begin with these bytes.
func rows(firsts ...byte) *inference.ModelInferRequest {
	data := make([]byte, 0, 2*len(firsts))
	for _, b := range firsts {
		data = append(data, b, 0)
	}
	return tensors(oip.Tensor{Name: "x", Datatype: "UINT8", Shape: []int64{int64(len(firsts)), 2}, Data: data})
}

func tensors(inputs ...oip.Tensor) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{}
	for _, in := range inputs {
		oip.AddInput(req, in)
	}
	return req
}

// took runs a request and gives how long it took.
func took(ctx context.Context, m modelserver.Model, req *inference.ModelInferRequest) (time.Duration, error) {
	begin := time.Now()
	_, err := m.Infer(ctx, req)
	return time.Since(begin), err
}

func wantKind(t *testing.T, err error, kind failure.Kind) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind {
		t.Errorf("error %v, want the kind %s", err, kind)
	}
}
