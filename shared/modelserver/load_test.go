package modelserver_test

import (
	"context"
	"errors"
	"strings"
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

func TestLoadAll(t *testing.T) {
	t.Parallel()
	good := servertest.Map(func(x float32) float32 { return x })
	byModel := loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		switch spec.Name() {
		case "broken":
			return nil, failure.New(failure.Invalid, "broken/1/model.bin is truncated")
		case "unkind":
			return nil, errors.New("a secret of ours")
		case "panics":
			panic("out of order")
		}
		return good, nil
	})
	folder := servertest.Repository(t, map[string]string{
		"broken/config.pbtxt":   doubleConfig,
		"unkind/config.pbtxt":   doubleConfig,
		"panics/config.pbtxt":   doubleConfig,
		"other/config.pbtxt":    servertest.MapConfig("elsewhere"),
		"typo/config.pbtxt":     "bakend: 1",
		"none/config.pbtxt":     doubleConfig,
		"newest/config.pbtxt":   doubleConfig,
		"newest/9/":             "",
		"newest/10/":            "",
		"newest/011/":           "",
		"newest/v12/":           "",
		"newest/13":             "a file",
		"all/config.pbtxt":      doubleConfig + "version_policy { all {} }",
		"all/3/":                "",
		"all/1/":                "",
		"two/config.pbtxt":      doubleConfig + "version_policy { latest { num_versions: 2 } }",
		"two/1/":                "",
		"two/2/":                "",
		"two/30/":               "",
		"chosen/config.pbtxt":   doubleConfig + "version_policy { specific { versions: [ 2, 7 ] } }",
		"chosen/1/":             "",
		"chosen/2/":             "",
		"nothing/config.pbtxt":  doubleConfig + "version_policy { specific { } }",
		"negative/config.pbtxt": doubleConfig + "version_policy { specific { versions: [ -1 ] } }",
		"badbatch/config.pbtxt": `backend: "double" max_batch_size: -2`,
	})
	r := newRegistry(t, folder, byModel)
	want := []string{
		"all/1 READY", "all/3 READY",
		`badbatch/1 UNAVAILABLE badbatch/config.pbtxt:1:19: max_batch_size is -2, must be 0 or more`,
		"broken/1 UNAVAILABLE broken/1/model.bin is truncated",
		"chosen/2 READY", `chosen/7 UNAVAILABLE version 7 of model "chosen" is not in its folder`,
		`negative/-1 UNAVAILABLE version -1 of model "negative" is not in its folder`,
		"newest/10 READY", "none/1 READY",
		`nothing/ UNAVAILABLE the version_policy of model "nothing" picks no version`,
		`panics/1 UNAVAILABLE the backend "double" broke while it loaded`,
		"two/2 READY", "two/30 READY",
		"unkind/1 UNAVAILABLE internal error",
	}
	if diff := cmp.Diff(want, index(r)); diff != "" {
		t.Error(diff)
	}
	if !r.Settled() {
		t.Error("not settled")
	}
	if r.Ready() == nil || r.EverReady() == nil {
		t.Error("ready, though models are broken")
	}
	if len(r.Index(true)) != 7 {
		t.Errorf("the index of what is ready has %v", r.Index(true))
	}
}

func TestLoadCloses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		warm func() error
		want string
	}{
		"warm-up fails":  {func() error { return failure.New(failure.Invalid, "input missing") }, "warm-up: input missing"},
		"warm-up panics": {func() error { panic("cold") }, "warm-up: the model broke"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := 0
			folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
			r := newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
				m := servertest.Map(nil)
				m.OnClose = func() error { closed++; return nil }
				return &warmModel{m, test.warm}, nil
			}))
			if diff := cmp.Diff([]string{"m/1 UNAVAILABLE " + test.want}, index(r)); diff != "" {
				t.Error(diff)
			}
			if closed != 1 {
				t.Errorf("closed %d times", closed)
			}
		})
	}
}

type warmModel struct {
	servertest.Model
	warm func() error
}

func (m *warmModel) WarmUp(context.Context) error { return m.warm() }

// completing fills in what a configuration leaves out.
type completing struct {
	servertest.Backend
	complete func(ctx context.Context, spec modelserver.Spec) error
}

func (c *completing) Complete(ctx context.Context, spec modelserver.Spec) error {
	return c.complete(ctx, spec)
}

func TestComplete(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"full/config.pbtxt":  `backend: "double" version_policy { all {} }`,
		"full/1/":            "",
		"full/2/":            "",
		"short/config.pbtxt": `backend: "double"`,
		"fails/config.pbtxt": `backend: "double"`,
	})
	c := &completing{double, func(_ context.Context, spec modelserver.Spec) error {
		tensor := &inference.ModelInput{Name: "x", DataType: inference.DataType_TYPE_FP32, Dims: []int64{spec.Version}}
		switch spec.Name() {
		case "fails":
			return failure.New(failure.Invalid, "fails/1/model.bin is missing")
		case "short":
			tensor.Dims = nil // left incomplete: the check comes after
		}
		spec.Config.Input = append(spec.Config.Input, tensor)
		return nil
	}}
	r := newRegistry(t, folder, c)
	want := []string{
		"fails/1 UNAVAILABLE fails/1/model.bin is missing", "full/1 READY", "full/2 READY",
		`short/1 UNAVAILABLE short/config.pbtxt: input "x" has no dims`,
	}
	if diff := cmp.Diff(want, index(r)); diff != "" {
		t.Error(diff)
	}
	for _, version := range []string{"1", "2"} { // each has its own
		cfg, err := r.Config("full", version)
		if err != nil || len(cfg.GetInput()) != 1 || cfg.GetInput()[0].GetDims()[0] != int64(version[0]-'0') {
			t.Errorf("version %s has %v, %v", version, cfg, err)
		}
	}
}

func TestLoadingIsSeen(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"slow/config.pbtxt": doubleConfig})
	synctest.Test(t, func(t *testing.T) {
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, &completing{
			loading(func(ctx context.Context, _ modelserver.Spec) (modelserver.Model, error) {
				time.Sleep(time.Minute)
				return servertest.Map(func(x float32) float32 { return x }), nil
			}),
			func(_ context.Context, spec modelserver.Spec) error {
				spec.Config.DefaultModelFilename = "model.bin"
				return nil
			},
		})
		s := newService(r)
		go func() {
			if err := r.LoadAll(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if diff := cmp.Diff([]string{"slow/1 LOADING"}, index(r)); diff != "" {
			t.Error(diff)
		}
		if r.Settled() || failure.Message(r.Ready()) != "models are loading" {
			t.Errorf("settled %t, ready %v", r.Settled(), r.Ready())
		}
		for _, version := range []string{"", "1"} {
			_, err := s.ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: "slow", ModelVersion: version})
			if failure.KindOf(err) != failure.Unavailable || !strings.HasSuffix(failure.Message(err), "is not ready: it is LOADING") {
				t.Errorf("infer of version %q gives %v", version, err)
			}
			if _, err := s.ModelConfig(t.Context(), &inference.ModelConfigRequest{Name: "slow", Version: version}); failure.KindOf(err) != failure.Unavailable {
				t.Errorf("config of version %q gives %v", version, err)
			}
		}
		// Another load waits for its turn no longer than its caller does.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Load(ctx, "slow"); failure.KindOf(err) != failure.Deadline {
			t.Errorf("a load that waits gives %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !r.Settled() || r.Ready() != nil || r.EverReady() != nil {
			t.Errorf("settled %t, ready %v, ever ready %v", r.Settled(), r.Ready(), r.EverReady())
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A caller that has no patience does not cost everybody the model: what it began
// goes on, until the registry is closed.
func TestLoadOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"slow/config.pbtxt": doubleConfig})
	synctest.Test(t, func(t *testing.T) {
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, loading(func(ctx context.Context, _ modelserver.Spec) (modelserver.Model, error) {
			select {
			case <-time.After(time.Minute):
				return servertest.Map(func(x float32) float32 { return x }), nil
			case <-ctx.Done():
				return nil, failure.OfContext(ctx)
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Load(ctx, "slow"); err != nil {
			t.Errorf("load gives %v", err)
		}
		if diff := cmp.Diff([]string{"slow/1 READY"}, index(r)); diff != "" {
			t.Error(diff)
		}
		servertest.Write(t, folder, map[string]string{"slow/1/model.bin": "another"})
		ended := make(chan error, 1)
		go func() { ended <- r.Load(t.Context(), "slow") }()
		synctest.Wait()
		begin := time.Now()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; failure.KindOf(err) != failure.Unavailable || time.Since(begin) > time.Second {
			t.Errorf("a load under way ends with %v after %s", err, time.Since(begin))
		}
	})
}

// Models that never get ready take their time, not that of all others.
func TestLoadTimeout(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"a/config.pbtxt": doubleConfig, "b/config.pbtxt": doubleConfig, "good/config.pbtxt": doubleConfig})
	synctest.Test(t, func(t *testing.T) {
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, loading(func(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
			if spec.Name() != "good" {
				<-ctx.Done()
				return nil, failure.OfContext(ctx)
			}
			return servertest.Map(func(x float32) float32 { return x }), nil
		}))
		r.SetLoadPolicy(modelserver.LoadPolicy{Threads: 2, Timeout: time.Minute})
		begin := time.Now()
		if err := r.LoadAll(t.Context()); err != nil || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %s", err, time.Since(begin))
		}
		late := "/1 UNAVAILABLE loading and warming up took longer than 1m0s (--model-load-timeout)"
		if diff := cmp.Diff([]string{"a" + late, "b" + late, "good/1 READY"}, index(r)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLoadAllEnds(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"a/config.pbtxt": doubleConfig, "b/config.pbtxt": doubleConfig})
	ctx, cancel := context.WithCancel(t.Context())
	r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, loading(func(ctx context.Context, _ modelserver.Spec) (modelserver.Model, error) {
		cancel()
		return nil, ctx.Err()
	}))
	if err := r.LoadAll(ctx); failure.KindOf(err) != failure.Cancelled {
		t.Errorf("got %v", err)
	}
	if r.Settled() || r.Has("b") {
		t.Errorf("settled %t, index %v", r.Settled(), index(r))
	}
}

func TestLoadByName(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"typo/config.pbtxt": "bakend: 1", "other/config.pbtxt": servertest.MapConfig("elsewhere"),
	})
	r := newRegistry(t, folder, double)
	servertest.Write(t, folder, map[string]string{"late/config.pbtxt": doubleConfig})
	tests := map[string]struct {
		kind failure.Kind
		want string
	}{
		"late":    {},
		"missing": {failure.NotFound, `model "missing" is not in the repository`},
		"typo":    {failure.Invalid, `typo/config.pbtxt:1:1: unknown field: bakend, did you mean "backend"?`},
		"other":   {failure.NotFound, `model "other" has the backend "elsewhere", which is not served here`},
	}
	for name, test := range tests {
		before := r.Generation()
		err := r.Load(t.Context(), name)
		if test.want == "" {
			if err != nil || r.Generation() == before {
				t.Errorf("%s: %v, generation %d", name, err, r.Generation())
			}
			continue
		}
		if failure.KindOf(err) != test.kind || failure.Message(err) != test.want {
			t.Errorf("%s: got %v, want %s %q", name, err, test.kind, test.want)
		}
	}
	if diff := cmp.Diff([]string{"late/1 READY"}, index(r)); diff != "" {
		t.Error(diff)
	}
}
