package predictor_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"triptych/proto/inference"
	predictor "triptych/services/predictor"
	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// ORT-09: the CPU instead of a GPU is told by the model's remark, its properties
// and the metric.
func TestFallbackIsVisible(t *testing.T) {
	tel := telemetry.Discard()
	cfg := predictor.DefaultConfig()
	cfg.Library, cfg.Device, cfg.DeviceFallback = os.Getenv("TRIPTYCH_ONNXRUNTIME"), "cuda:0", "cpu"
	backends, err := predictor.NewBackends(cfg, tel)
	if err != nil {
		t.Fatal(err)
	}
	b := backends[0].(*predictor.Backend)
	t.Cleanup(func() { _ = b.Close() })
	model := load(t, b, sample(t, 2))
	const why = "runs on cpu instead of cuda:0: "
	if got := model.(modelserver.Remarker).Remark(); !strings.HasPrefix(got, why) {
		t.Errorf("remark %q", got)
	}
	properties := model.(modelserver.Describer).Properties()
	for key, want := range map[string]string{"device": "cpu", "device_requested": "cuda:0", "execution_provider": "CPUExecutionProvider", "device_remark": why} {
		if !strings.HasPrefix(properties[key], want) {
			t.Errorf("%s is %q, want %q", key, properties[key], want)
		}
	}
	want := `# HELP triptych_execution_provider Loaded versions by the device that was asked for and the provider that runs them.
# TYPE triptych_execution_provider gauge
triptych_execution_provider{actual="CPUExecutionProvider",model="efficientnet_lite0",requested="cuda:0",version="2"} 1
`
	if err := testutil.GatherAndCompare(tel.Registry, strings.NewReader(want), "triptych_execution_provider"); err != nil {
		t.Error(err)
	}
}

// Without the policy a GPU that is not there ends the service with its reason.
func TestGPUThatIsNotThereIsAnError(t *testing.T) {
	cfg := predictor.DefaultConfig()
	cfg.Library, cfg.Device = os.Getenv("TRIPTYCH_ONNXRUNTIME"), "tensorrt"
	_, err := predictor.NewBackends(cfg, telemetry.Discard())
	if failure.KindOf(err) != failure.Invalid || !strings.HasPrefix(failure.Message(err), "--device tensorrt:0: the runtime can't use it") {
		t.Errorf("error %v", err)
	}
}

// A batch that did not fit says so in the batcher's words, and the caller learns
// no more than that.
func TestOutOfMemoryInTheBatchersWords(t *testing.T) {
	b, _ := backend(t)
	directory := t.TempDir()
	file, err := os.ReadFile(filepath.Join("engine", "testdata", "hungry.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(directory, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "1", "model.onnx"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	model := load(t, b, modelserver.Spec{Version: 1, Directory: directory, Config: &inference.ModelConfig{
		Name: "hungry", MaxBatchSize: 4,
		Input:  []*inference.ModelInput{{Name: "x", DataType: inference.DataType_TYPE_INT64, Dims: []int64{1}}},
		Output: []*inference.ModelOutput{{Name: "y", DataType: inference.DataType_TYPE_FP32, Dims: []int64{1}}},
	}})
	want := func(n uint64) error {
		req := &inference.ModelInferRequest{}
		oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "INT64", Shape: []int64{1, 1}, Data: binary.LittleEndian.AppendUint64(nil, n)})
		_, err := model.Infer(t.Context(), req)
		return err
	}
	err = want(1 << 45)
	if !errors.Is(err, batcher.ErrOutOfMemory) || failure.KindOf(err) != failure.Internal || failure.Message(err) != `model "hungry" has not enough memory on cpu for a batch of 1` {
		t.Errorf("error %v", err)
	}
	if err := want(3); err != nil {
		t.Errorf("after that: %v", err)
	}
}
