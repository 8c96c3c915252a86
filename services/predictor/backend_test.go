package predictor_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/proto/inference"
	predictor "triptych/services/predictor"
	"triptych/services/predictor/batcher"
	"triptych/services/predictor/engine"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func backend(tb testing.TB, change ...func(*predictor.Config)) (*predictor.Backend, *telemetry.Telemetry) {
	tb.Helper()
	tel := telemetry.Discard()
	cfg := predictor.DefaultConfig()
	cfg.Library = os.Getenv("TRIPTYCH_ONNXRUNTIME")
	for _, c := range change {
		c(&cfg)
	}
	backends, err := predictor.NewBackends(cfg, tel)
	if err != nil {
		tb.Fatal(err)
	}
	b := backends[0].(*predictor.Backend)
	tb.Cleanup(func() {
		for range 2 {
			if err := b.Close(); err != nil {
				tb.Error(err)
			}
		}
	})
	return b, tel
}

// sample is the classifier that the repository ships.
func sample(tb testing.TB, version int64) modelserver.Spec {
	tb.Helper()
	directory := testkit.Path(tb, "models", "efficientnet_lite0")
	data, err := os.ReadFile(filepath.Join(directory, modelconfig.Filename))
	if err != nil {
		tb.Fatal(err)
	}
	cfg, err := modelconfig.ParseText(modelconfig.Filename, data)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Name = "efficientnet_lite0"
	return modelserver.Spec{Config: cfg, Version: version, Directory: directory}
}

func load(tb testing.TB, b *predictor.Backend, spec modelserver.Spec) modelserver.TimedModel {
	tb.Helper()
	model, err := b.Load(tb.Context(), spec)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := model.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := model.(modelserver.Warmer).WarmUp(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return model.(modelserver.TimedModel)
}

// picture is a request with noise, the same for the same seed.
func picture(seed uint64, batch int64) *inference.ModelInferRequest {
	data := make([]byte, batch*224*224*3)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data)
	req := &inference.ModelInferRequest{}
	oip.AddInput(req, oip.Tensor{Name: "image", Datatype: "UINT8", Shape: []int64{batch, 224, 224, 3}, Data: data})
	return req
}

func logits(tb testing.TB, resp *inference.ModelInferResponse) []float32 {
	tb.Helper()
	out, ok := oip.Output(resp, "logits")
	if !ok {
		tb.Fatal("no logits")
	}
	values := make([]float32, len(out.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*i:]))
	}
	return values
}

// 64 callers at once, each with its own picture, get what they get alone.
//
// The answers need not be equal to the last bit: the runtime blocks its matrix
// products by the number of rows, so a sum is added up in another order in a
// batch of 16 than alone. They are equal to within 1e-4 of the largest score.
// That is far below what two different pictures differ by, which is checked
// too: an answer that is somebody else's can't pass.
func TestBatchedAnswersAreTheSingleAnswers(t *testing.T) {
	b, _ := backend(t)
	for _, version := range []int64{1, 2} {
		t.Run("version "+strconv.FormatInt(version, 10), func(t *testing.T) {
			spec := sample(t, version)
			// By its own policy it would not batch on a CPU, where that does not pay.
			spec.Config.Parameters = map[string]*inference.ModelParameter{batcher.PolicyParameter: {StringValue: string(batcher.Triton)}}
			model := load(t, b, spec)
			const callers = 64
			var alone [callers][]float32
			for i := range callers {
				resp, timing, err := model.InferTimed(t.Context(), picture(uint64(i), 1))
				if err != nil {
					t.Fatal(err)
				}
				if timing.Batch != 1 || timing.Executions != 1 {
					t.Fatalf("alone, but timing %+v", timing)
				}
				alone[i] = logits(t, resp)
			}
			for i := 1; i < callers; i++ {
				if d := distance(alone[i], alone[i-1]); d < 1e-2 {
					t.Fatalf("pictures %d and %d differ by %g only", i, i-1, d)
				}
			}
			var group sync.WaitGroup
			var mu sync.Mutex
			largest, worst, executions := 0, 0.0, 0
			for i := range callers {
				group.Go(func() {
					resp, timing, err := model.InferTimed(t.Context(), picture(uint64(i), 1))
					if err != nil {
						t.Error(err)
						return
					}
					d := distance(logits(t, resp), alone[i])
					if d > 1e-4 {
						t.Errorf("caller %d got scores that differ by %g in a batch of %d", i, d, timing.Batch)
					}
					mu.Lock()
					defer mu.Unlock()
					largest, worst, executions = max(largest, timing.Batch), max(worst, d), executions+timing.Executions
				})
			}
			group.Wait()
			if largest < 2 || executions >= callers {
				t.Errorf("largest batch %d in %d executions: nothing was batched", largest, executions)
			}
			t.Logf("largest batch %d, %d executions, largest difference %g", largest, executions, worst)
		})
	}
}

// distance is the largest difference, as a share of the largest score.
func distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	largest, scale := 0.0, 0.0
	for i := range a {
		largest = max(largest, math.Abs(float64(a[i])-float64(b[i])))
		scale = max(scale, math.Abs(float64(b[i])))
	}
	if math.IsNaN(largest) || scale == 0 {
		return math.Inf(1)
	}
	return largest / scale
}

// Callers that go away in the middle of batches and runs spoil nobody's answer.
func TestCallersThatLeaveSpoilNothing(t *testing.T) {
	b, _ := backend(t)
	model := load(t, b, sample(t, 2))
	resp, err := model.Infer(t.Context(), picture(7, 2))
	if err != nil {
		t.Fatal(err)
	}
	want := logits(t, resp)
	var group sync.WaitGroup
	for i := range 48 {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(60*time.Millisecond))
			defer cancel()
			req := picture(uint64(i), 1)
			_, err := model.Infer(ctx, req)
			if err != nil && failure.KindOf(err) != failure.Deadline {
				t.Error(err)
			}
			clear(req.RawInputContents[0]) // the caller's again
		})
	}
	for range 4 {
		group.Go(func() {
			resp, err := model.Infer(t.Context(), picture(7, 2))
			if err != nil {
				t.Error(err)
				return
			}
			if d := distance(logits(t, resp), want); d > 1e-4 {
				t.Errorf("the patient caller's scores differ by %g", d)
			}
		})
	}
	group.Wait()
	if n := model.(modelserver.PendingCounter).Pending(); n != 0 {
		t.Errorf("%d wait", n)
	}
}

// What auto chose is told in the properties and in a metric.
func TestDeviceIsVisible(t *testing.T) {
	b, tel := backend(t)
	model, err := b.Load(t.Context(), sample(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	properties := model.(modelserver.Describer).Properties()
	for key, want := range map[string]string{"device": "cpu", "device_requested": "auto", "execution_provider": "CPUExecutionProvider", "instances": strconv.Itoa(min(engine.Cores(), 2))} {
		if properties[key] != want {
			t.Errorf("%s is %q, want %q", key, properties[key], want)
		}
	}
	if !strings.HasPrefix(properties["onnxruntime"], "1.") {
		t.Errorf("properties %v", properties)
	}
	if got := provider(t, tel); got != 1 {
		t.Errorf("gauge %v, want 1", got)
	}
	fresh, err := b.Load(t.Context(), sample(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if got := provider(t, tel); got != 2 {
		t.Errorf("gauge %v while the version is loaded again, want 2", got)
	}
	for i, m := range []modelserver.Model{model, fresh} {
		for range 2 { // once is enough
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := provider(t, tel), float64(1-i); got != want {
			t.Errorf("gauge %v after unload %d, want %v", got, i, want)
		}
	}
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, name := range []string{"triptych_batch_size", "triptych_queue_age_seconds", "triptych_batch_cut_total", "triptych_queue_dropped_total", "triptych_execution_provider"} {
			if family.GetName() == name {
				t.Errorf("%s is left behind: %v", name, family.GetMetric())
			}
		}
	}
}

// provider is the gauge of the sample model, 0 when there is none.
func provider(t *testing.T, tel *telemetry.Telemetry) float64 {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "triptych_execution_provider" {
			var labels []string
			for _, l := range family.GetMetric()[0].GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if got, want := strings.Join(labels, ","), "actual=CPUExecutionProvider,model=efficientnet_lite0,requested=auto,version=2"; got != want {
				t.Errorf("labels %s, want %s", got, want)
			}
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return 0
}

// A model without a configuration is completed from its file and serves.
func TestCompleteAndServe(t *testing.T) {
	b, _ := backend(t)
	spec := sample(t, 1)
	spec.Config = &inference.ModelConfig{Name: "efficientnet_lite0", Backend: predictor.Name}
	if err := b.Complete(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if spec.Config.GetMaxBatchSize() != 4 || spec.Config.GetDynamicBatching() == nil {
		t.Errorf("completed to %v", spec.Config)
	}
	model := load(t, b, spec)
	req := picture(1, 3)
	if _, err := oip.Check(req, spec.Config); err != nil {
		t.Fatal(err)
	}
	resp, err := model.Infer(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(logits(t, resp)); got != 3000 {
		t.Errorf("%d scores", got)
	}
}

// A file that breaks its promise is refused by Load with the reason.
func TestLoadRefuses(t *testing.T) {
	b, _ := backend(t)
	spec := sample(t, 1)
	spec.Version = 9
	_, err := b.Load(t.Context(), spec)
	if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), "there is no file model.onnx") {
		t.Errorf("error %v", err)
	}
	spec = sample(t, 1)
	spec.Config.Input[0].DataType = inference.DataType_TYPE_FP32
	_, err = b.Load(t.Context(), spec)
	if want := `input "image": config says FP32 [-1,224,224,3], model says UINT8 [-1,224,224,3]`; !strings.Contains(failure.Message(err), want) {
		t.Errorf("message %q lacks %q", failure.Message(err), want)
	}
}

// Two backends in one process share the library, and outlive each other.
func TestTwoBackends(t *testing.T) {
	first, _ := backend(t)
	second, _ := backend(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	model := load(t, second, sample(t, 2))
	if _, err := model.Infer(t.Context(), picture(1, 1)); err != nil {
		t.Fatal(err)
	}
}

// A version is swapped for itself while the old one still answers.
func TestReloadWhileServing(t *testing.T) {
	b, _ := backend(t)
	old := load(t, b, sample(t, 2))
	var group sync.WaitGroup
	want, err := old.Infer(t.Context(), picture(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		group.Go(func() {
			if _, err := old.Infer(t.Context(), picture(3, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	fresh := load(t, b, sample(t, 2))
	group.Wait()
	got, err := fresh.Infer(t.Context(), picture(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.GetRawOutputContents()[0], want.GetRawOutputContents()[0]) {
		t.Error("the same file gives another answer")
	}
}
