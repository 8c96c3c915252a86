package predictor_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"triptych/proto/inference"
	predictor "triptych/services/predictor"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

const (
	vectorConfig = `backend: "onnxruntime"
max_batch_size: 8
dynamic_batching {}
`
	fileWarmup = `model_warmup [ { name: "ones" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3 ] input_data_file: "ones" } } } ]
`
)

// failsToLoad is the reason of a version that never comes as far as the gate.
const failsToLoad = "load"

func parameter(key, value string) string {
	return `parameters { key: "` + key + `" value { string_value: "` + value + `" } }
`
}

// versionFile is one of the models of testdata/versions.
func versionFile(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(testkit.Path(tb, "services", "predictor", "testdata", "versions", name+".onnx"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// release is a server of the model "m" whose version 1 is "base" and serves.
type release struct {
	folder   string
	registry *modelserver.Registry
	service  *modelserver.Service
	log      *bytes.Buffer
	tel      *telemetry.Telemetry
}

func newRelease(t *testing.T, config string) *release {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{
		"m/config.pbtxt": config, "m/1/model.onnx": versionFile(t, "base"), "m/warmup/ones": string(servertest.Raw(1, 1, 1)),
	})
	r := &release{folder: folder, log: &bytes.Buffer{}, tel: telemetry.Discard()}
	r.tel.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	cfg := predictor.DefaultConfig()
	cfg.Library, cfg.Device = os.Getenv("TRIPTYCH_ONNXRUNTIME"), "cpu"
	backends, err := predictor.NewBackends(cfg, r.tel)
	if err != nil {
		t.Fatal(err)
	}
	r.registry = servertest.NewRegistry(t, r.tel, []string{folder}, backends...)
	t.Cleanup(func() {
		if err := r.registry.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := backends[0].(*predictor.Backend).Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.registry.LoadAll(t.Context()); err != nil || r.registry.Ready() != nil {
		t.Fatal(err, r.registry.Ready())
	}
	r.service = modelserver.NewService(modelserver.Info{Name: "test"}, r.registry, true)
	return r
}

// underLoad runs while 8 callers ask for what every version answers alike; none
// of their calls fails (REP-01, REP-07).
func (r *release) underLoad(t *testing.T, right func(y []float32) bool, run func()) {
	t.Helper()
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			x := float32(i + 1)
			for {
				select {
				case <-stop:
					return
				default:
				}
				resp, err := r.service.ModelInfer(t.Context(), vector(x, x, x))
				if err != nil {
					t.Errorf("a caller's request fails: %v", err)
					return
				}
				if y := servertest.Floats(resp.GetRawOutputContents()[0]); len(y) == 0 || !right(y) {
					t.Errorf("a caller gets %v", y)
					return
				}
			}
		})
	}
	defer callers.Wait()
	defer close(stop)
	run()
}

func (r *release) index() string {
	var lines []string
	for _, m := range r.registry.Index(false) {
		lines = append(lines, m.GetVersion()+" "+m.GetState()+" "+m.GetReason())
	}
	return strings.Join(lines, "\n")
}

// refusals are the refused swaps by reason.
func (r *release) refusals(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := r.tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "triptych_model_swap_refused_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			counts[labelOf(m, "reason")] += m.GetCounter().GetValue()
		}
	}
	return counts
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// A new version beside the one that serves: in each case 8 callers see nothing
// of it but the right answers.
func TestGate(t *testing.T) {
	t.Parallel()
	explicit := `input { name: "x" data_type: TYPE_FP32 dims: 3 }
output { name: "y" data_type: TYPE_FP32 dims: -1 }
`
	tests := map[string]struct {
		file   string
		config string // beside vectorConfig
		reason string // of the metric; none passes
		says   string
		files  map[string]string
	}{
		"same weights":         {file: "base"},
		"same, all thresholds": {file: "base", config: parameter("gate_min_top1_agreement", "1") + parameter("gate_max_abs_drift", "0") + parameter("gate_max_rel_drift", "0")},
		"renamed output":       {file: "renamed", reason: "signature", says: `output "y" is missing, the new version gives "logits"`},
		"renamed input":        {file: "renamed_input", reason: "signature", says: `input "x" is missing, the new version takes "image"`},
		"other datatype":       {file: "fp64", reason: "signature", says: `output "y" was FP32 [-1,3], is now FP64 [-1,3]`},
		"gate off":             {file: "fp64", config: parameter("gate", "off")},
		"other shape":          {file: "wider", config: explicit, reason: "signature", says: `sample "zeros": output "y" was FP32 [1,3], is now FP32 [1,6]`},
		"ORT-06 NaN":           {file: "nan", reason: "not_finite", says: `sample "noise": output "y" has`},
		"top-1 unbound":        {file: "turned"},
		"other top-1":          {file: "turned", config: parameter("gate_min_top1_agreement", "0.9"), reason: "top1", says: `output "y": the top-1 agreement is`},
		"drift unbound":        {file: "shifted"},
		"drift within":         {file: "shifted", config: parameter("gate_max_abs_drift", "0.011")},
		"drift beyond":         {file: "shifted", config: parameter("gate_max_abs_drift", "0.009"), reason: "drift", says: `output "y" drifts by 0.01, gate_max_abs_drift is 0.009; sample "noise", element 0: 0.1596 before, 0.1696 now`},
		"relative drift": {
			file: "shifted", config: parameter("gate_max_rel_drift", "0.001") + fileWarmup, reason: "drift",
			says: `output "y" drifts by 0.005 of its largest magnitude, gate_max_rel_drift is 0.001; sample "ones", element 0: 2 before, 2.01 now`,
		},
		"samples of its own": {
			file: "turned", config: parameter("gate_min_top1_agreement", "0.9") + parameter("gate_samples", "golden"), reason: "top1",
			says:  `the top-1 agreement is 0.6667 (2 of 3 rows), gate_min_top1_agreement is 0.9; first, sample "b", row 1: 2 before, 1 now`,
			files: map[string]string{"m/golden/a/x": string(servertest.Raw(1, 1, 1)), "m/golden/b/x": string(servertest.Raw(1, 1, 1, 1, 2, 3)), "m/golden/README": "no sample"},
		},
		"a sample with a shape": {
			file: "base", config: parameter("gate_samples", "golden"),
			files: map[string]string{"m/golden/a/x": string(servertest.Raw(1, 1, 1)), "m/golden/a/x.shape": "1,3\n"},
		},
		"no samples":        {file: "base", config: parameter("gate_samples", "golden"), reason: failsToLoad, says: `the folder "golden" of gate_samples can't be read`},
		"a broken sample":   {file: "base", config: parameter("gate_samples", "golden"), reason: failsToLoad, says: `gate_samples "a": input "x": the file x has 5 bytes, which is no number of rows of FP32 [-1,3]`, files: map[string]string{"m/golden/a/x": "short"}},
		"a missing input":   {file: "base", config: parameter("gate_samples", "golden"), reason: failsToLoad, says: `gate_samples "a": the file golden/a/x can't be read`, files: map[string]string{"m/golden/a/z": "short"}},
		"bad threshold":     {file: "base", config: parameter("gate_min_top1_agreement", "90"), reason: failsToLoad, says: `parameter "gate_min_top1_agreement": is 90, must be from 0 to 1`},
		"bad drift":         {file: "base", config: parameter("gate_max_abs_drift", "-1"), reason: failsToLoad, says: `parameter "gate_max_abs_drift": has -1, must be 0 or more`},
		"bad word":          {file: "base", config: parameter("gate", "of"), reason: failsToLoad, says: `parameter "gate": is "of", must be one of on, off`},
		"samples outside":   {file: "base", config: parameter("gate_samples", "../x"), reason: failsToLoad, says: `parameter "gate_samples": is "../x", which leaves the model's folder`},
		"misspelt":          {file: "base", config: parameter("gate_sample", "x"), reason: failsToLoad, says: `unknown parameter "gate_sample", did you mean "gate_samples"?`},
		"warm-up fails":     {file: "fails_at_three", reason: failsToLoad, says: `warm-up: model "m": a batch of 4 zeros fails`},
		"warm-up gives NaN": {file: "all_nan", config: fileWarmup, reason: failsToLoad, says: `warm-up: model "m": model_warmup "ones" gives 3 NaN in output "y" of shape [1,3]`},
		"cut short":         {file: "", reason: failsToLoad, says: "is empty"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelease(t, vectorConfig)
			if strings.Contains(test.config, "output {") {
				servertest.Write(t, r.folder, map[string]string{"m/config.pbtxt": vectorConfig + explicit, "m/1/model.onnx": versionFile(t, "free")})
				if err := r.registry.Load(t.Context(), "m"); err != nil {
					t.Fatal(err)
				}
			}
			content := ""
			if test.file != "" {
				content = versionFile(t, test.file)
			}
			servertest.Write(t, r.folder, map[string]string{"m/config.pbtxt": vectorConfig + test.config, "m/2/model.onnx": content})
			servertest.Write(t, r.folder, test.files)
			anything := func([]float32) bool { return test.reason == "" }
			r.underLoad(t, func(y []float32) bool {
				return len(y) == 3 && y[0] == y[1] && y[1] == y[2] || anything(y)
			}, func() {
				for range 2 { // refused once, it is refused again (REP-02)
					r.check(t, test.reason, test.says)
				}
			})
		})
	}
}

// check loads the model and wants it to pass, or to be refused for that reason.
func (r *release) check(t *testing.T, reason, says string) {
	t.Helper()
	before := r.refusals(t)[reason]
	err := r.registry.Load(t.Context(), "m")
	if reason == "" {
		if err != nil || r.index() != "2 READY " {
			t.Fatalf("error %v, index %s", err, r.index())
		}
		return
	}
	if err == nil || !strings.Contains(failure.Message(err), says) {
		t.Fatalf("error %v\nlacks %s", err, says)
	}
	if got := r.index(); !strings.HasPrefix(got, "1 READY \n2 UNAVAILABLE ") || !strings.Contains(got, says) {
		t.Errorf("index %s\nlacks %s", got, says)
	}
	if got := r.refusals(t)[reason]; got != before+1 && reason != failsToLoad {
		t.Errorf("%v refusals for %q, then %v", before, reason, got)
	}
	if !strings.Contains(r.log.String(), "level=ERROR") {
		t.Errorf("the log tells nothing: %s", r.log)
	}
	if r.registry.Ready() != nil {
		t.Errorf("the refusal made it unready: %v", r.registry.Ready())
	}
}

// The same version number with other weights is compared with its own old self.
func TestGateOnReload(t *testing.T) {
	t.Parallel()
	r := newRelease(t, vectorConfig)
	servertest.Write(t, r.folder, map[string]string{"m/1/model.onnx": versionFile(t, "nan")})
	r.underLoad(t, func(y []float32) bool { return !math.IsNaN(float64(y[0])) }, func() {
		err := r.registry.Load(t.Context(), "m")
		if failure.KindOf(err) != failure.Conflict || !strings.Contains(failure.Message(err), `version 1 of model "m" is refused, version 1 serves on: sample "noise"`) {
			t.Errorf("got %v", err)
		}
		if got := r.index(); !strings.HasPrefix(got, `1 READY the last load failed: version 1 of model "m" is refused`) {
			t.Errorf("index %s", got)
		}
	})
	if got := r.registry.Unload(t.Context(), "m"); got != nil {
		t.Fatal(got)
	}
	// With nothing in service there is nothing to compare with.
	if err := r.registry.Load(t.Context(), "m"); err != nil || r.index() != "1 READY " {
		t.Errorf("got %v, index %s", err, r.index())
	}
}

// Versions that come together at the first start may differ in everything; one
// that joins them later is compared with the newest.
func TestGateBesideOthers(t *testing.T) {
	t.Parallel()
	all := vectorConfig + "version_policy { all {} }\n" + parameter("gate_max_abs_drift", "0.001")
	r := newRelease(t, all)
	servertest.Write(t, r.folder, map[string]string{"m/2/model.onnx": versionFile(t, "turned")})
	if err := r.registry.Unload(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if err := r.registry.Load(t.Context(), "m"); err != nil || r.index() != "1 READY \n2 READY " {
		t.Fatalf("got %v, index %s", err, r.index())
	}
	servertest.Write(t, r.folder, map[string]string{"m/3/model.onnx": versionFile(t, "base")})
	err := r.registry.Load(t.Context(), "m")
	if !strings.Contains(failure.Message(err), `version 3 of model "m" is refused, version 2 serves on: output "y" drifts by`) {
		t.Errorf("got %v", err)
	}
	if got := r.index(); !strings.HasPrefix(got, "1 READY \n2 READY \n3 UNAVAILABLE version 3 of") {
		t.Errorf("index %s", got)
	}
	servertest.Write(t, r.folder, map[string]string{"m/3/model.onnx": versionFile(t, "turned")})
	if err := r.registry.Load(t.Context(), "m"); err != nil || r.index() != "1 READY \n2 READY \n3 READY " {
		t.Errorf("got %v, index %s", err, r.index())
	}
}

// The comparison leaves no trace in what callers are counted by.
func TestGateIsNotCounted(t *testing.T) {
	t.Parallel()
	r := newRelease(t, vectorConfig)
	if _, err := r.service.ModelInfer(t.Context(), vector(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	servertest.Write(t, r.folder, map[string]string{"m/2/model.onnx": versionFile(t, "turned"), "m/config.pbtxt": vectorConfig + parameter("gate_min_top1_agreement", "1")})
	if err := r.registry.Load(t.Context(), "m"); err == nil {
		t.Fatal("it passed")
	}
	stats, err := r.service.ModelStatistics(t.Context(), nil)
	if err != nil || len(stats.GetModelStats()) != 1 {
		t.Fatal(err, stats)
	}
	if got := stats.GetModelStats()[0]; got.GetInferenceCount() != 1 || got.GetExecutionCount() != 1 {
		t.Errorf("statistics %v", got)
	}
	if !strings.Contains(r.log.String(), "version refused") {
		t.Errorf("log %s", r.log)
	}
}

// vector is a request of one row.
func vector(x ...float32) *inference.ModelInferRequest {
	req := &inference.ModelInferRequest{ModelName: "m"}
	oip.AddInput(req, oip.Tensor{Name: "x", Datatype: "FP32", Shape: []int64{1, int64(len(x))}, Data: servertest.Raw(x...)})
	return req
}
