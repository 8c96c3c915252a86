package modelserver_test

import (
	"context"
	"os"
	"path/filepath"
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

// Nothing has changed: a load is a success without work.
func TestLoadUnchanged(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/model.bin": "x"})
	b := &switchable{}
	r := newRegistry(t, folder, b.backend())
	if err := r.Load(t.Context(), "m"); err != nil || b.loads.Load() != 1 {
		t.Errorf("got %v after %d loads", err, b.loads.Load())
	}
	// The same meaning in other words is no change, nor is a hidden file.
	servertest.Write(t, folder, map[string]string{"m/config.pbtxt": "# the same\n" + doubleConfig, "m/1/.nfs0001": "x"})
	if err := r.Load(t.Context(), "m"); err != nil || b.loads.Load() != 1 {
		t.Errorf("got %v after %d loads", err, b.loads.Load())
	}
	for i, change := range []map[string]string{
		{"m/1/model.bin": "xy"}, {"m/1/more/weights.bin": "x"}, {"m/labels.txt": "a"}, {"m/config.pbtxt": doubleConfig + "dynamic_batching {}"},
	} {
		servertest.Write(t, folder, change)
		if err := r.Load(t.Context(), "m"); err != nil || b.loads.Load() != int64(2+i) || b.closes.Load() != int64(1+i) {
			t.Errorf("%v: got %v, loads %d, closes %d", change, err, b.loads.Load(), b.closes.Load())
		}
	}
}

// REP-04: files that change while they are loaded are not trusted.
func TestChangedWhileLoading(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/model.bin": "x"})
	var copying atomic.Bool
	closed := atomic.Int64{}
	r := newRegistry(t, folder, loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		if copying.Load() {
			servertest.Write(t, folder, map[string]string{"m/2/model.bin": "half and the rest"})
		}
		if compiled := filepath.Join(spec.VersionDirectory(), "compiled"); closed.Load() == 0 { // what a backend keeps is no change
			servertest.Write(t, filepath.Dir(compiled), map[string]string{"compiled": "x"})
		}
		m := servertest.Map(func(x float32) float32 { return x })
		m.OnClose = func() error { closed.Add(1); return nil }
		return m, nil
	}))
	servertest.Write(t, folder, map[string]string{"m/2/model.bin": "half"})
	copying.Store(true)
	err := r.Load(t.Context(), "m")
	if failure.KindOf(err) != failure.Conflict || failure.Message(err) != `the files of model "m" changed while it was loaded: 2/model.bin` {
		t.Errorf("got %v", err)
	}
	if closed.Load() != 1 || index(r)[0] != "m/1 READY" {
		t.Errorf("%d closed, index %v", closed.Load(), index(r))
	}
	copying.Store(false)
	if err := r.Load(t.Context(), "m"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"m/2 READY"}, index(r)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadNamed(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"a/config.pbtxt": doubleConfig, "b/config.pbtxt": doubleConfig, "c/config.pbtxt": doubleConfig,
		"other/config.pbtxt": servertest.MapConfig("elsewhere"),
		"whole/config.pbtxt": `platform: "ensemble" ensemble_scheduling { step { model_name: "b" } step { model_name: "other" } }`,
	})
	r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, double)
	if err := r.LoadNamed(t.Context(), []string{"whole"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"a/ UNAVAILABLE unloaded", "b/1 READY", "c/ UNAVAILABLE unloaded"}
	if diff := cmp.Diff(want, index(r)); diff != "" {
		t.Error(diff)
	}
	if r.Ready() != nil || r.EverReady() != nil || r.Broken() != nil || !r.Promised("other") || r.Promised("a") {
		t.Errorf("ready %v, broken %v", r.Ready(), r.Broken())
	}
	// What is loaded later is promised once it has served, not before.
	servertest.Write(t, folder, map[string]string{"c/config.pbtxt": doubleConfig + "version_policy { specific { versions: 3 } }"})
	if err := r.Load(t.Context(), "c"); err == nil || r.Ready() != nil {
		t.Errorf("load gives %v, ready %v", err, r.Ready())
	}
	if err := r.Load(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := r.Unload(t.Context(), name); err != nil || r.Ready() != nil {
			t.Errorf("unload gives %v, ready %v", err, r.Ready())
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	absent := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, double)
	if err := absent.LoadNamed(t.Context(), []string{"nobody"}); err != nil {
		t.Fatal(err)
	}
	if want := `model "nobody" is not ready: model "nobody" is not in the repository`; failure.Message(absent.Ready()) != want || absent.Broken() == nil {
		t.Errorf("got %v, want %q", absent.Ready(), want)
	}
}

// Models are loaded side by side, so many at once; a model's load does not wait
// for another model's.
func TestLoadsInParallel(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"a/config.pbtxt": doubleConfig, "b/config.pbtxt": doubleConfig, "c/config.pbtxt": doubleConfig, "d/config.pbtxt": doubleConfig,
	})
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Minute)
			now.Add(-1)
			return servertest.Map(func(x float32) float32 { return x }), nil
		}))
		r.SetLoadPolicy(modelserver.LoadPolicy{Threads: 2})
		begin := time.Now()
		if err := r.LoadAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 2*time.Minute || most.Load() != 2 {
			t.Errorf("it took %s, %d at once", took, most.Load())
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestRetries(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	for retries, want := range map[int]string{0: "m/1 UNAVAILABLE not yet", 1: "m/1 UNAVAILABLE not yet", 2: "m/1 READY"} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
				if tries++; tries < 3 {
					return nil, failure.New(failure.Unavailable, "not yet")
				}
				return servertest.Map(nil), nil
			}))
			r.SetLoadPolicy(modelserver.LoadPolicy{Retries: retries})
			if err := r.LoadAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := index(r)[0]; got != want || tries != retries+1 {
				t.Errorf("%d retries: %s after %d tries", retries, got, tries)
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// An unload takes over from a load that runs.
func TestUnloadDuringLoad(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
	synctest.Test(t, func(t *testing.T) {
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, loading(func(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
			if spec.Version == 2 {
				<-ctx.Done()
				return nil, failure.OfContext(ctx)
			}
			return servertest.Map(nil), nil
		}))
		if err := r.LoadAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		servertest.Write(t, folder, map[string]string{"m/2/": ""})
		ended := make(chan error, 1)
		go func() { ended <- r.Load(context.Background(), "m") }()
		synctest.Wait()
		if err := r.Unload(t.Context(), "m"); err != nil {
			t.Error(err)
		}
		if err := <-ended; failure.KindOf(err) != failure.Conflict || !strings.Contains(failure.Message(err), "was given up: it was unloaded meanwhile") {
			t.Errorf("the load ends with %v", err)
		}
		if diff := cmp.Diff([]string{"m/1 UNAVAILABLE unloaded", "m/2 UNAVAILABLE unloaded"}, index(r)); diff != "" {
			t.Error(diff)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func stringParameter(text string) *inference.ModelRepositoryParameter {
	return &inference.ModelRepositoryParameter{ParameterChoice: &inference.ModelRepositoryParameter_StringParam{StringParam: text}}
}

func bytesParameter(data string) *inference.ModelRepositoryParameter {
	return &inference.ModelRepositoryParameter{ParameterChoice: &inference.ModelRepositoryParameter_BytesParam{BytesParam: []byte(data)}}
}

const doubleJSON = `{"backend": "double", "max_batch_size": 8, "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2]}], "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}]}`

// reading is a backend whose models answer the length of their file.
func reading(directories *sync.Map) servertest.Backend {
	return loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		directories.Store(spec.Directory, true)
		data, err := os.ReadFile(filepath.Join(spec.VersionDirectory(), "model.bin"))
		if err != nil {
			return nil, failure.New(failure.Invalid, "model.bin is missing")
		}
		return servertest.Map(func(float32) float32 { return float32(len(data)) }), nil
	})
}

func TestOverride(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/model.bin": "1"})
	var directories sync.Map
	r := newRegistry(t, folder, reading(&directories))
	s := newService(r)
	load := func(name string, params map[string]*inference.ModelRepositoryParameter) error {
		_, err := s.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: name, Parameters: params})
		return err
	}
	answers := func(model string, want float32) {
		t.Helper()
		resp, err := s.ModelInfer(t.Context(), servertest.Request(model, 1, 2))
		if err != nil || servertest.Answer(resp, "y")[0] != want {
			t.Errorf("got %v, %v; want %g", resp, err, want)
		}
	}
	batch := func(want int32) {
		t.Helper()
		if cfg, err := r.Config("m", ""); err != nil || cfg.GetMaxBatchSize() != want {
			t.Errorf("got %v, %v", cfg, err)
		}
	}
	temporary := func() (left int) {
		directories.Range(func(key, _ any) bool {
			if dir := key.(string); !strings.HasPrefix(dir, folder) {
				if _, err := os.Stat(dir); err == nil {
					left++
				}
			}
			return true
		})
		return left
	}

	// A configuration alone goes before the file's, with the repository's files.
	if err := load("m", map[string]*inference.ModelRepositoryParameter{"config": stringParameter(strings.Replace(doubleJSON, "8", "3", 1))}); err != nil {
		t.Fatal(err)
	}
	batch(3)
	answers("m", 1)
	// Files replace the folder.
	for range 2 {
		err := load("m", map[string]*inference.ModelRepositoryParameter{"config": stringParameter(doubleJSON), "file:7/model.bin": bytesParameter("1234567")})
		if err != nil {
			t.Fatal(err)
		}
		answers("m", 7)
		if diff := cmp.Diff([]string{"m/7 READY"}, index(r)); diff != "" || temporary() != 1 {
			t.Errorf("%d folders of files, %s", temporary(), diff)
		}
	}
	// One that is broken changes nothing, and leaves nothing.
	err := load("m", map[string]*inference.ModelRepositoryParameter{"config": stringParameter(doubleJSON), "file:7/model.txt": bytesParameter("x")})
	if failure.Message(err) != "model.bin is missing" || temporary() != 1 {
		t.Errorf("got %v, %d folders of files", err, temporary())
	}
	answers("m", 7)
	// A plain load undoes it.
	if err := load("m", nil); err != nil {
		t.Fatal(err)
	}
	answers("m", 1)
	batch(8)
	if temporary() != 0 {
		t.Errorf("%d folders of files", temporary())
	}
	// A model that the repository does not have.
	if err := load("new", map[string]*inference.ModelRepositoryParameter{"config": stringParameter(doubleJSON), "file:1/model.bin": bytesParameter("12")}); err != nil {
		t.Fatal(err)
	}
	answers("new", 2)
	if err := r.Unload(t.Context(), "new"); err != nil || temporary() != 0 {
		t.Errorf("%v, %d folders of files", err, temporary())
	}
}

// A folder with thousands of folders in each other is refused before it is looked
// at, which would take seconds.
func TestDeepFolderRefused(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"m/config.pbtxt": doubleConfig, "m/1/model.bin": "1", "m/1/" + strings.Repeat("d/", 200) + "x": "",
	})
	var directories sync.Map
	r := newRegistry(t, folder, reading(&directories))
	err := r.Load(t.Context(), "m")
	if want := `the folder of model "m" has more than 64 folders in each other`; failure.Message(err) != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestOverrideRefused(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/model.bin": "1"})
	var directories sync.Map
	s := newService(newRegistry(t, folder, reading(&directories)))
	config := stringParameter(doubleJSON)
	tests := map[string]struct {
		model  string
		params map[string]*inference.ModelRepositoryParameter
		kind   failure.Kind
		want   string
	}{
		"files alone":     {"m", map[string]*inference.ModelRepositoryParameter{"file:1/model.bin": bytesParameter("x")}, failure.Invalid, `files can be sent only together with the parameter "config"`},
		"unknown":         {"m", map[string]*inference.ModelRepositoryParameter{"confg": config}, failure.Invalid, `unknown parameter "confg" of a load: there are "config" and "file:VERSION/PATH"`},
		"config as bytes": {"m", map[string]*inference.ModelRepositoryParameter{"config": bytesParameter("{}")}, failure.Invalid, `the parameter "config" must be a string: the configuration in JSON`},
		"file as string":  {"m", map[string]*inference.ModelRepositoryParameter{"config": config, "file:1/m": stringParameter("x")}, failure.Invalid, `the parameter "file:1/m" must be bytes`},
		"another backend": {"m", map[string]*inference.ModelRepositoryParameter{"config": stringParameter(`{"backend": "elsewhere"}`)}, failure.NotFound, `model "m" has the backend "elsewhere", which is not served here`},
		"no such model":   {"nobody", map[string]*inference.ModelRepositoryParameter{"config": config}, failure.NotFound, `model "nobody" is not in the repository`},
		"a bad name":      {"../m", map[string]*inference.ModelRepositoryParameter{"config": config, "file:1/model.bin": bytesParameter("x")}, failure.NotFound, `model "../m" is not in the repository`},
		"a long name":     {strings.Repeat("n", 256), map[string]*inference.ModelRepositoryParameter{"config": config, "file:1/model.bin": bytesParameter("x")}, failure.NotFound, "model " + failure.Quote(strings.Repeat("n", 256)) + " is not in the repository"},
		"broken JSON":     {"m", map[string]*inference.ModelRepositoryParameter{"config": stringParameter("{")}, failure.Invalid, "the sent config of m:1:1: unexpected end of JSON input"},
	}
	for _, path := range []string{"../x", "/etc/x", "1/../../x", "", ".", "1\\..\\x", "1/\x00"} {
		tests["the path "+path] = struct {
			model  string
			params map[string]*inference.ModelRepositoryParameter
			kind   failure.Kind
			want   string
		}{"m", map[string]*inference.ModelRepositoryParameter{"config": config, "file:" + path: bytesParameter("x")}, failure.Invalid, "the file " + failure.Quote(path) + " leaves the model's folder"}
	}
	for path, want := range map[string]string{
		"1":                            `"1" is a file and a folder with the file "1/model.bin"`,
		"1/model.bin/x":                `"1/model.bin" is a file and a folder with the file "1/model.bin/x"`,
		"1/":                           `the file "1/" must be a plain path such as 1/model.onnx`,
		"1//y":                         `the file "1//y" must be a plain path such as 1/model.onnx`,
		"1/..":                         `the file "1/.." must be a plain path such as 1/model.onnx`,
		strings.Repeat("d/", 70):       "must be a plain path",
		strings.Repeat("d/", 70) + "x": "is too long",
		strings.Repeat("x", 256):       "is too long",
	} {
		_, err := s.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: "m", Parameters: map[string]*inference.ModelRepositoryParameter{
			"config": config, "file:1/model.bin": bytesParameter("x"), "file:" + path: bytesParameter("x"),
		}})
		if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), want) {
			t.Errorf("%s: got %s %v, want %q", path, failure.KindOf(err), err, want)
		}
	}
	for name, test := range tests {
		_, err := s.RepositoryModelLoad(t.Context(), &inference.RepositoryModelLoadRequest{ModelName: test.model, Parameters: test.params})
		if failure.KindOf(err) != test.kind || failure.Message(err) != test.want {
			t.Errorf("%s: got %s %v, want %q", name, failure.KindOf(err), err, test.want)
		}
	}
	for name, value := range map[string]*inference.ModelRepositoryParameter{"unload_dependants": {}, "unload_dependents": config} {
		_, err := s.RepositoryModelUnload(t.Context(), &inference.RepositoryModelUnloadRequest{ModelName: "m", Parameters: map[string]*inference.ModelRepositoryParameter{name: value}})
		if failure.KindOf(err) != failure.Invalid {
			t.Errorf("unload with %s: %v", name, err)
		}
	}
	if _, err := s.ModelInfer(t.Context(), servertest.Request("m", 1, 2)); err != nil {
		t.Errorf("what serves was touched: %v", err)
	}
}

// REP-07: loads with and without files, unloads and calls, all at once, with
// -race: every call is answered or refused, and no folder of files is left.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{
		"a/config.pbtxt": doubleConfig, "a/1/model.bin": "1", "b/config.pbtxt": doubleConfig, "b/1/model.bin": "1",
	})
	var directories sync.Map
	r := newRegistry(t, folder, reading(&directories))
	r.SetLoadPolicy(modelserver.LoadPolicy{Threads: 3})
	s := newService(r)
	var calls, orders sync.WaitGroup
	stop := make(chan struct{})
	for _, model := range []string{"a", "b", "a", "b"} {
		calls.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.ModelInfer(t.Context(), servertest.Request(model, 1, 2)); err != nil && failure.KindOf(err) != failure.Unavailable {
					t.Error(err)
					return
				}
			}
		})
		orders.Go(func() {
			for n := range 20 {
				var err error
				switch n % 4 {
				case 0:
					err = r.Load(t.Context(), model)
				case 1, 3:
					err = r.LoadOverride(t.Context(), model, modelserver.Override{Config: []byte(doubleJSON), Files: map[string][]byte{"2/model.bin": []byte("xx")}})
				case 2:
					err = r.Unload(t.Context(), model)
				}
				if err != nil && failure.KindOf(err) != failure.Conflict { // given up for an unload
					t.Error(err)
				}
			}
		})
	}
	orders.Wait()
	close(stop)
	calls.Wait()
	for _, model := range []string{"a", "b"} {
		if err := r.Unload(t.Context(), model); err != nil {
			t.Error(err)
		}
	}
	directories.Range(func(key, _ any) bool {
		if dir := key.(string); !strings.HasPrefix(dir, folder) {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
		return true
	})
}
