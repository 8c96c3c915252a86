package modelserver_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

// probing is a model that leans on something else.
type probing struct {
	servertest.Model
	away *atomic.Bool
}

func (p *probing) Ready() error {
	if p.away.Load() {
		return failure.New(failure.Unavailable, "its step is away")
	}
	return nil
}

// findable serves "m" with the versions 1 (ready), 2 (ready), 3 (failed), "gone"
// (unloaded), and "leans", which can be made unready.
func findable(t *testing.T) (*modelserver.Registry, *atomic.Bool) {
	t.Helper()
	folder := servertest.Repository(t, map[string]string{
		"m/config.pbtxt":     doubleConfig + "version_policy { all {} }",
		"m/1/":               "",
		"m/2/":               "",
		"m/3/":               "",
		"gone/config.pbtxt":  doubleConfig,
		"leans/config.pbtxt": doubleConfig,
		"bad/config.pbtxt":   doubleConfig,
	})
	var away atomic.Bool
	r := newRegistry(t, folder, loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		m := servertest.Map(func(x float32) float32 { return x * float32(spec.Version) })
		switch {
		case spec.Version == 3, spec.Name() == "bad":
			return nil, failure.New(failure.Invalid, "model.bin is truncated")
		case spec.Name() == "leans":
			return &probing{m, &away}, nil
		}
		return m, nil
	}))
	if err := r.Unload(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	return r, &away
}

func TestFind(t *testing.T) {
	t.Parallel()
	r, _ := findable(t)
	s := newService(r)
	long := strings.Repeat("x", 10_000)
	tests := map[string]struct {
		model, version string
		kind           failure.Kind
		want           string // the version, or the message
	}{
		"latest that is ready": {"m", "", 0, "2"},
		"older":                {"m", "1", 0, "1"},
		"unknown model":        {"nobody", "", failure.NotFound, `unknown model "nobody"`},
		"no model":             {"", "", failure.NotFound, `unknown model ""`},
		"long name":            {long, "", failure.NotFound, `unknown model "` + long[:128] + `..."`},
		"unknown version":      {"m", "9", failure.NotFound, `unknown version 9 of model "m"`},
		"leading zero":         {"m", "01", failure.Invalid, `version "01" of model "m" is not a whole number above 0`},
		"zero":                 {"m", "0", failure.Invalid, `version "0" of model "m" is not a whole number above 0`},
		"negative":             {"m", "-1", failure.Invalid, `version "-1" of model "m" is not a whole number above 0`},
		"not a number":         {"m", "Abc", failure.Invalid, `version "Abc" of model "m" is not a whole number above 0`},
		"unknown label":        {"m", "abc", failure.NotFound, `model "m" has no version with the label "abc"`},
		"too large":            {"m", "99999999999999999999", failure.Invalid, `version "99999999999999999999" of model "m" is not a whole number above 0`},
		"failed version":       {"m", "3", failure.Unavailable, `model "m" version 3 is not ready: model.bin is truncated`},
		"failed model":         {"bad", "", failure.Unavailable, `model "bad" is not ready: model.bin is truncated`},
		"unloaded":             {"gone", "", failure.Unavailable, `model "gone" is not ready: unloaded`},
		"unloaded version":     {"gone", "1", failure.Unavailable, `model "gone" version 1 is not ready: unloaded`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := servertest.Request(test.model, 1, 2)
			req.ModelVersion = test.version
			asked := map[string]error{}
			resp, err := s.ModelInfer(t.Context(), req)
			asked["infer"] = err
			_, asked["metadata"] = s.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: test.model, Version: test.version})
			_, asked["config"] = s.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: test.model, Version: test.version})
			if test.model != "" {
				_, asked["statistics"] = s.ModelStatistics(t.Context(), &inference.ModelStatisticsRequest{Name: test.model, Version: test.version})
			}
			for what, err := range asked {
				if test.kind == 0 {
					if err != nil || resp.GetModelVersion() != test.want {
						t.Errorf("%s: version %q, %v; want %s", what, resp.GetModelVersion(), err, test.want)
					}
				} else if failure.KindOf(err) != test.kind || failure.Message(err) != test.want {
					t.Errorf("%s: got %s %v, want %s %q", what, failure.KindOf(err), err, test.kind, test.want)
				}
			}
			ready, err := s.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: test.model, Version: test.version})
			switch test.kind {
			case 0, failure.Unavailable: // an answer, not an error
				if err != nil || ready.GetReady() != (test.kind == 0) {
					t.Errorf("ready: got %v, %v", ready, err)
				}
			default:
				if failure.KindOf(err) != test.kind {
					t.Errorf("ready: got %v", err)
				}
			}
		})
	}
}

func TestProber(t *testing.T) {
	t.Parallel()
	r, away := findable(t)
	s := newService(r)
	for _, name := range []string{"m", "bad"} {
		if err := r.Unload(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	ready := func() bool {
		resp, err := s.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: "leans", Version: "1"})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetReady()
	}
	away.Store(true)
	if r.EverReady() == nil {
		t.Error("ever ready before it was")
	}
	away.Store(false)
	for range 2 {
		if !ready() || r.Ready() != nil || r.EverReady() != nil {
			t.Errorf("there: ready %t, %v, %v", ready(), r.Ready(), r.EverReady())
		}
		away.Store(true)
		want := []string{
			"bad/1 UNAVAILABLE unloaded", "gone/1 UNAVAILABLE unloaded", "leans/1 UNAVAILABLE its step is away",
			"m/1 UNAVAILABLE unloaded", "m/2 UNAVAILABLE unloaded", "m/3 UNAVAILABLE unloaded",
		}
		if diff := cmp.Diff(want, index(r)); diff != "" {
			t.Error(diff)
		}
		if ready() || failure.Message(r.Ready()) != `model "leans" version 1 is not ready: its step is away` || r.EverReady() != nil {
			t.Errorf("away: ready %t, %v, %v", ready(), r.Ready(), r.EverReady())
		}
		if _, err := s.ModelInfer(t.Context(), servertest.Request("leans", 1, 2)); failure.Message(err) != `model "leans" is not ready: its step is away` {
			t.Errorf("infer gives %v", err)
		}
		// What is known of it stays known, and a reload replaces it, as ever.
		if _, err := r.Config("leans", ""); err != nil {
			t.Error(err)
		}
		if err := r.Load(t.Context(), "leans"); err != nil {
			t.Error(err)
		}
		away.Store(false)
	}
}

func TestServerAnswers(t *testing.T) {
	t.Parallel()
	r, _ := findable(t)
	s := newService(r)
	if live, err := s.ServerLive(t.Context(), nil); err != nil || !live.GetLive() {
		t.Errorf("got %v, %v", live, err)
	}
	if ready, err := s.ServerReady(t.Context(), nil); err != nil || ready.GetReady() {
		t.Errorf("got %v, %v, but models are broken", ready, err)
	}
	m, err := s.ServerMetadata(t.Context(), nil)
	if err != nil || m.GetName() != "test" || m.GetVersion() != "1.2.3" || !strings.Contains(strings.Join(m.GetExtensions(), " "), "statistics") {
		t.Errorf("got %v, %v", m, err)
	}
	if _, err := s.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{RepositoryName: "mine"}); failure.KindOf(err) != failure.Unsupported {
		t.Errorf("got %v", err)
	}
	onlyReady, err := s.RepositoryIndex(t.Context(), &inference.RepositoryIndexRequest{Ready: true})
	if err != nil || len(onlyReady.GetModels()) != 3 {
		t.Errorf("got %v, %v", onlyReady, err)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	r, _ := findable(t)
	for control, kind := range map[bool]failure.Kind{true: 0, false: failure.Forbidden} {
		s := modelserver.NewService(modelserver.Info{}, r, control)
		_, err := s.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "m"})
		if control && failure.KindOf(err) != failure.Invalid { // version 3 is broken
			t.Errorf("load gives %v", err)
		}
		if !control && failure.KindOf(err) != kind {
			t.Errorf("load gives %v", err)
		}
		_, err = s.RepositoryModelUnload(t.Context(), &inference.RepositoryModelUnloadRequest{ModelName: "leans"})
		if failure.KindOf(err) != kind {
			t.Errorf("unload gives %v", err)
		}
	}
	s := newService(r)
	_, err := s.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{
		ModelName: "m", Parameters: map[string]*inference.ModelRepositoryParameter{"config": {}},
	})
	if failure.KindOf(err) != failure.Invalid {
		t.Errorf("got %v", err)
	}
}

// described has facts to tell.
type described struct{ servertest.Model }

func (described) Properties() map[string]string { return map[string]string{"device": "cpu"} }

func TestMetadata(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"m/config.pbtxt": doubleConfig + "version_policy { all {} }", "m/1/": "", "m/2/": "",
		"flat/config.pbtxt": `backend: "double" platform: "onnxruntime_onnx" input { name: "x" data_type: TYPE_STRING dims: [ -1, 3 ] }`,
	})
	s := newService(newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return described{servertest.Map(nil)}, nil
	})))
	got, err := s.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	want := `name:"m" versions:"1" versions:"2" platform:"double" inputs:{name:"x" datatype:"FP32" shape:-1 shape:2} outputs:{name:"y" datatype:"FP32" shape:-1 shape:2} properties:{key:"device" value:"cpu"}`
	if text := strings.Join(strings.Fields(got.String()), " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	cfg, err := s.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: "m", Version: "1"})
	if err != nil || cfg.GetConfig().GetName() != "m" || cfg.GetConfig().GetBackend() != "double" {
		t.Errorf("got %v, %v", cfg, err)
	}
}
