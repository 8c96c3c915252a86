package predictor_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	predictor "triptych/services/predictor"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// oddity is a repository that real ones look like, and what becomes of it. The
// tables oddities_*_test.go go through sections 1 and 3 of what is known of
// Triton: each oddity has a name and a verdict.
type oddity struct {
	// config is m/config.pbtxt; none when it is empty.
	config string
	// model is m/1/model.onnx, by its name in the engine's testdata:
	// identity_fp32 if empty, none if "-".
	model string
	// more are other files: a text, "@name" for a model, "-> target" for a
	// link; a path that ends in a slash is a folder.
	more map[string]string
	// verdict has a line for each model or version.
	verdict string
	// completed is the configuration of m afterwards, beside its name and
	// backend; not compared when it is empty.
	completed string
}

// The most frequent verdict, and the inputs and outputs of identity_fp32.
const (
	loads = "m/1 READY"
	x     = `input { name: "x" data_type: TYPE_FP32 dims: 3 } `
	y     = `output { name: "y" data_type: TYPE_FP32 dims: 3 } `
	xy    = x + y
)

func judge(t *testing.T, oddities map[string]oddity) {
	t.Helper()
	b, _ := backend(t)
	for name, o := range oddities {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			o.write(t, folder)
			registry, verdict := verdictOf(t, b, folder)
			if verdict != o.verdict {
				t.Errorf("got\n%s\nwant\n%s", verdict, o.verdict)
			}
			if o.completed == "" {
				return
			}
			got, err := registry.Config("m", "")
			if err != nil {
				t.Fatal(err)
			}
			want, err := modelconfig.ParseText("want", []byte(o.completed))
			if err != nil {
				t.Fatal(err)
			}
			want.Name, want.Backend, want.Platform = "m", predictor.Name, "onnxruntime_onnx"
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (o oddity) write(t *testing.T, folder string) {
	t.Helper()
	files := map[string]string{}
	if o.config != "" {
		files["m/config.pbtxt"] = o.config
	}
	switch o.model {
	case "-":
	case "":
		files["m/1/model.onnx"] = "@identity_fp32"
	default:
		files["m/1/model.onnx"] = "@" + o.model
	}
	links := map[string]string{}
	for path, text := range o.more {
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			links[path] = target
			continue
		}
		files[path] = text
	}
	for path, text := range files {
		if model, ok := strings.CutPrefix(text, "@"); ok {
			content, err := os.ReadFile(filepath.Join("engine", "testdata", model+".onnx"))
			if err != nil {
				t.Fatal(err)
			}
			files[path] = string(content)
		}
	}
	servertest.Write(t, folder, files)
	for path, target := range links {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, path)); err != nil {
			t.Fatal(err)
		}
	}
}

var runtimeVersion = regexp.MustCompile(`ONNX Runtime [0-9.]+`)

// verdictOf loads repositories and tells what became of every model: what the
// predictor's index says, and what the gateway says of those that nobody claims.
func verdictOf(t *testing.T, b *predictor.Backend, folders ...string) (*modelserver.Registry, string) {
	t.Helper()
	registry := servertest.NewRegistry(t, telemetry.Discard(), folders, b)
	t.Cleanup(func() {
		if err := registry.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := registry.LoadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	repository, err := modelserver.NewRepository(folders...)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := repository.Scan()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range entries {
		switch {
		case e.Err != nil:
			lines = append(lines, e.Name+": "+failure.Message(e.Err))
		case !registry.Has(e.Name):
			lines = append(lines, e.Name+" is left to the backend "+modelconfig.BackendOf(e.Document.Config))
		}
	}
	for _, m := range registry.Index(false) {
		lines = append(lines, strings.TrimSpace(m.GetName()+"/"+m.GetVersion()+" "+m.GetState()+" "+m.GetReason()))
	}
	return registry, runtimeVersion.ReplaceAllString(strings.Join(lines, "\n"), "ONNX Runtime V")
}

// refused is the verdict of version 1 that is not loaded.
func refused(reason string) string { return "m/1 UNAVAILABLE " + reason }

// unclaimed is the verdict of a model whose configuration can't be read.
func unclaimed(reason string) string { return "m: " + reason }

// TestOddTwoRepositories is the one oddity that needs two folders.
func TestOddTwoRepositories(t *testing.T) {
	b, _ := backend(t)
	first, second := t.TempDir(), t.TempDir()
	oddity{}.write(t, first)
	oddity{more: map[string]string{"other/1/model.onnx": "@identity_fp32"}}.write(t, second)
	_, verdict := verdictOf(t, b, first, second)
	if want := "m: model \"m\" is in more than one repository\nother/1 READY"; verdict != want {
		t.Errorf("got\n%s\nwant\n%s", verdict, want)
	}
}

// TestOddStrict is --disable-auto-complete-config: what is not written is not
// there.
func TestOddStrict(t *testing.T) {
	cfg := predictor.DefaultConfig()
	cfg.Library, cfg.DisableAutoComplete = os.Getenv("TRIPTYCH_ONNXRUNTIME"), true
	backends, err := predictor.NewBackends(cfg, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	b := backends[0].(*predictor.Backend)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, o := range map[string]oddity{
		"complete":         {config: "max_batch_size: 8 " + xy, verdict: loads, completed: "max_batch_size: 8 " + xy},
		"no configuration": {verdict: refused(`model "m": the configuration lacks input "x", the model has "x"`)},
		"inputs only":      {config: "max_batch_size: 8 " + x, verdict: refused(`model "m": the configuration has no output, the model has "y"`)},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			o.write(t, folder)
			if _, verdict := verdictOf(t, b, folder); verdict != o.verdict {
				t.Errorf("got\n%s\nwant\n%s", verdict, o.verdict)
			}
		})
	}
}

// TestOddMount is REP-05: a mounted ConfigMap changes by one link that is
// replaced, and a reload sees what is behind it.
func TestOddMount(t *testing.T) {
	b, _ := backend(t)
	folder := t.TempDir()
	oddity{model: "-", more: map[string]string{
		"m/..old/config.pbtxt": "max_batch_size: 2", "m/..old/1/model.onnx": "@identity_fp32",
		"m/..new/config.pbtxt": "max_batch_size: 16", "m/..new/1/model.onnx": "@identity_fp32",
		"m/..data": "-> ..old", "m/config.pbtxt": "-> ..data/config.pbtxt", "m/1": "-> ..data/1",
	}}.write(t, folder)
	registry, verdict := verdictOf(t, b, folder)
	if verdict != loads {
		t.Fatal(verdict)
	}
	if err := os.Symlink("..new", filepath.Join(folder, "m", "..tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, "m", "..tmp"), filepath.Join(folder, "m", "..data")); err != nil {
		t.Fatal(err)
	}
	if err := registry.Load(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	cfg, err := registry.Config("m", "")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.GetMaxBatchSize() != 16 {
		t.Errorf("after the swap: %v", cfg)
	}
}
