package modelserver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// sampled is a model with samples.
type sampled struct {
	servertest.Model
	onSamples func() ([]modelserver.Sample, error)
}

func (m sampled) Samples(context.Context) ([]modelserver.Sample, error) { return m.onSamples() }

func oneSample() ([]modelserver.Sample, error) {
	return []modelserver.Sample{{Name: "one", Request: servertest.Request("m", 1, 2)}}, nil
}

type inferFunc func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)

// times is what a model of servertest.Map does.
func times(factor float32) inferFunc {
	return servertest.Map(func(x float32) float32 { return factor * x }).OnInfer
}

// gated is a registry in which version 1 of "m" serves, then version 2 comes with
// a configuration of its own.
type gated struct {
	registry *modelserver.Registry
	tel      *telemetry.Telemetry
	log      *bytes.Buffer
	closed   *atomic.Int64
	folder   string
}

func newGated(t *testing.T, folder string, old, fresh inferFunc, samples func() ([]modelserver.Sample, error)) *gated {
	t.Helper()
	g := &gated{tel: telemetry.Discard(), log: &bytes.Buffer{}, closed: &atomic.Int64{}, folder: folder}
	g.tel.Logger = slog.New(slog.NewTextHandler(g.log, nil))
	infer := map[int64]inferFunc{1: old, 2: fresh}
	g.registry = servertest.NewRegistry(t, g.tel, []string{folder}, loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		m := servertest.Model{OnInfer: infer[spec.Version], OnClose: func() error { g.closed.Add(1); return nil }}
		if samples == nil {
			return m, nil
		}
		return sampled{m, samples}, nil
	}))
	if err := g.registry.LoadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gated) close(t *testing.T) {
	t.Helper()
	if err := g.registry.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// next writes the configuration of version 2 and loads it.
func (g *gated) next(t *testing.T, config string) error {
	t.Helper()
	servertest.Write(t, g.folder, map[string]string{"m/config.pbtxt": config, "m/2/": ""})
	return g.registry.Load(t.Context(), "m")
}

func (g *gated) refused(t *testing.T, reason string) float64 {
	t.Helper()
	families, err := g.tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "triptych_model_swap_refused_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if labels := m.GetLabel(); labels[0].GetValue() == "m" && labels[1].GetValue() == reason {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func gateParameter(key, value string) string {
	return `parameters { key: "` + key + `" value { string_value: "` + value + `" } }
`
}

func TestGate(t *testing.T) {
	t.Parallel()
	fails := func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return nil, failure.New(failure.Internal, "no such kernel")
	}
	breaks := func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		panic("no")
	}
	tests := map[string]struct {
		config     string
		old, fresh inferFunc
		samples    func() ([]modelserver.Sample, error)
		reason     string
		says       string
		logs       string
	}{
		"alike":                   {doubleConfig, times(2), times(2), oneSample, "", "", "least_top1_agreement=1"},
		"drift, unbound":          {doubleConfig, times(2), times(3), oneSample, "", "", "largest_rel_drift=0.5"},
		"drift of its one output": {doubleConfig + gateParameter("gate_max_abs_drift", "1.5"), times(2), times(3), oneSample, "drift", `output "y" drifts by 2, gate_max_abs_drift is 1.5; sample "one", element 1: 4 before, 6 now`, "version refused"},
		"no sampler":              {doubleConfig, times(2), fails, nil, "", "", ""},
		"no sampler, other output": {
			strings.ReplaceAll(doubleConfig, "dims: 2 }\n", "dims: 3 }\n"), times(2), times(2), nil, "signature",
			`input "x" was FP32 [-1,2], is now FP32 [-1,3]`, "",
		},
		"no batch dimension": {strings.Replace(doubleConfig, "max_batch_size: 8", "max_batch_size: 0", 1), times(2), times(2), nil, "signature", `input "x" was FP32 [-1,2], is now FP32 [2]`, ""},
		"one more input":     {doubleConfig + `input { name: "z" data_type: TYPE_FP32 dims: 1 }`, times(2), times(2), nil, "signature", `input "z" is new and not optional, callers send "x"`, ""},
		"one more output":    {doubleConfig + `output { name: "z" data_type: TYPE_FP32 dims: 1 }`, times(2), times(2), oneSample, "", "", "version compared"},
		"optional input":     {doubleConfig + `input { name: "z" data_type: TYPE_FP32 dims: 1 optional: true }`, times(2), times(2), oneSample, "", "", "version compared"},
		"off":                {doubleConfig + gateParameter("gate", "off"), times(2), fails, oneSample, "", "", "version not compared"},
		"new fails":          {doubleConfig, times(2), fails, oneSample, "failed", `sample "one" fails: no such kernel`, "version refused"},
		"new breaks":         {doubleConfig, times(2), breaks, oneSample, "failed", `sample "one" fails: the model broke`, "version refused"},
		"old fails":          {doubleConfig, fails, fails, oneSample, "", "", "sample skipped"},
		"old breaks":         {doubleConfig, breaks, times(2), oneSample, "", "", "sample skipped"},
		"samples fail":       {doubleConfig, times(2), times(2), func() ([]modelserver.Sample, error) { return nil, failure.New(failure.Invalid, "no file") }, "samples", "there are no samples: no file", ""},
		"samples break":      {doubleConfig, times(2), times(2), func() ([]modelserver.Sample, error) { panic("no") }, "samples", "there are no samples: the model broke", ""},
		"sample of another kind": {doubleConfig, times(2), times(2), func() ([]modelserver.Sample, error) {
			return []modelserver.Sample{{Name: "odd", Request: servertest.Request("m")}}, nil
		}, "", "", "sample skipped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
			g := newGated(t, folder, test.old, test.fresh, test.samples)
			defer g.close(t)
			err := g.next(t, test.config)
			if !strings.Contains(g.log.String(), test.logs) {
				t.Errorf("the log lacks %q: %s", test.logs, g.log)
			}
			if g.closed.Load() != 1 {
				t.Errorf("%d models closed, want the one that does not serve", g.closed.Load())
			}
			if test.reason == "" {
				if diff := cmp.Diff([]string{"m/2 READY"}, index(g.registry)); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
				return
			}
			want := `version 2 of model "m" is refused, version 1 serves on: ` + test.says + ` (the parameter "gate" with the value "off" lets it pass)`
			if failure.KindOf(err) != failure.Conflict || failure.Message(err) != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if diff := cmp.Diff([]string{"m/1 READY", "m/2 UNAVAILABLE " + want}, index(g.registry)); diff != "" {
				t.Error(diff)
			}
			if g.registry.Ready() != nil {
				t.Error(g.registry.Ready())
			}
			if got := g.refused(t, test.reason); got != 1 {
				t.Errorf("%g refusals counted for %q", got, test.reason)
			}
		})
	}
}

// Nobody is alerted for a model that was unloaded.
func TestRefusalsGoWithTheModel(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
	broken := func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		return nil, errors.New("broken")
	}
	g := newGated(t, folder, times(2), broken, oneSample)
	defer g.close(t)
	if err := g.next(t, doubleConfig); err == nil || g.refused(t, "failed") != 1 {
		t.Fatalf("got %v, %g refusals counted", err, g.refused(t, "failed"))
	}
	if err := g.registry.Unload(t.Context(), "m"); err != nil || g.refused(t, "failed") != 0 {
		t.Errorf("got %v, %g refusals counted", err, g.refused(t, "failed"))
	}
}

// A version that is too busy to answer a sample at once is asked again.
func TestGateWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		busy := func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			switch asked.Add(1) {
			case 1:
				return nil, failure.New(failure.Busy, "the queue is full")
			case 2:
				return nil, failure.New(failure.Deadline, "it waited too long")
			}
			return times(2)(ctx, req)
		}
		g := newGated(t, folder, busy, times(3), oneSample)
		defer g.close(t)
		err := g.next(t, doubleConfig+gateParameter("gate_max_rel_drift", "0.1"))
		if failure.KindOf(err) != failure.Conflict || asked.Load() != 3 {
			t.Errorf("asked %d times, got %v", asked.Load(), err)
		}
	})
}

// A comparison takes no longer than it may, whichever version hangs.
func TestGateTimesOut(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]int{"old": 1, "new": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
			synctest.Test(t, func(t *testing.T) {
				infer := []inferFunc{nil, times(2), times(2)}
				infer[slow] = func(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
					<-ctx.Done()
					return nil, failure.OfContext(ctx)
				}
				g := newGated(t, folder, infer[1], infer[2], oneSample)
				defer g.close(t)
				start := time.Now()
				err := g.next(t, doubleConfig+gateParameter("gate_timeout_seconds", "7"))
				if want := "after 7s (gate_timeout_seconds), 0 of 1 samples are compared"; failure.KindOf(err) != failure.Conflict || !strings.Contains(failure.Message(err), want) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took != 7*time.Second {
					t.Errorf("took %s", took)
				}
				if g.refused(t, "timeout") != 1 {
					t.Error("not counted")
				}
			})
		})
	}
}

// The end of the server ends a comparison; that is nobody's refusal.
func TestGateEndsWithTheRegistry(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, folder, times(2), func(ctx context.Context, _ *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			<-ctx.Done()
			return nil, failure.OfContext(ctx)
		}, oneSample)
		var load sync.WaitGroup
		load.Go(func() {
			if err := g.next(t, doubleConfig); failure.KindOf(err) != failure.Cancelled {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		g.close(t)
		load.Wait()
		if g.closed.Load() != 2 {
			t.Errorf("%d models closed", g.closed.Load())
		}
		for _, reason := range []string{"failed", "timeout"} {
			if g.refused(t, reason) != 0 {
				t.Errorf("counted as %s", reason)
			}
		}
		if strings.Contains(g.log.String(), "level=ERROR") {
			t.Errorf("log %s", g.log)
		}
	})
}

// A version that is refused is closed even when that fails, and both are told.
func TestGateTellsOfClose(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
	r := newRegistry(t, folder, loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		m := servertest.Model{OnInfer: times(float32(spec.Version))}
		if spec.Version == 2 {
			m.OnClose = func() error { return errors.New("device is gone") }
		}
		return sampled{m, oneSample}, nil
	}))
	servertest.Write(t, folder, map[string]string{"m/2/": "", "m/config.pbtxt": doubleConfig + gateParameter("gate_max_rel_drift", "0.1")})
	err := r.Load(t.Context(), "m")
	if failure.KindOf(err) != failure.Conflict || !strings.Contains(err.Error(), "device is gone") {
		t.Errorf("got %v", err)
	}
}
