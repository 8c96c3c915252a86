package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"triptych/services/predictor/engine"
	"triptych/shared/failure"
)

// sharedLibrary compiles a C source. Whoever can run these tests has a C
// compiler, for cgo needs one.
func sharedLibrary(t *testing.T, source string) string {
	t.Helper()
	directory := t.TempDir()
	file, library := filepath.Join(directory, "library.c"), filepath.Join(directory, "libonnxruntime.so")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-o", library, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return library
}

const oldRuntime = `
#include <stddef.h>
#include <stdint.h>
typedef struct { const void *(*get_api)(uint32_t); const char *(*get_version)(void); } base;
static const void *get_api(uint32_t version) { return version > 20 ? NULL : &get_api; }
static const char *get_version(void) { return "1.20.0"; }
static const base it = { get_api, get_version };
const base *OrtGetApiBase(void) { return &it; }
`

// A library that can't be used is an error that says what to run.
func TestOpenRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libonnxruntime.so")
	if err := os.WriteFile(text, []byte("this is no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ path, want string }{
		"no library":      {text, "can't be loaded: run \"make setup\""},
		"another library": {sharedLibrary(t, "int something;"), "is not an ONNX Runtime library: run \"make setup\""},
		"too old":         {sharedLibrary(t, oldRuntime), "is too old, ONNX Runtime 1.24 or newer is needed: run \"make setup\", or set TRIPTYCH_ONNXRUNTIME"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Open(c.path)
			wantFailure(t, err, failure.Invalid, c.want)
		})
	}
}

// The environment comes up again after it has gone down, and a second holder
// keeps it.
func TestOpenAgain(t *testing.T) {
	path, err := engine.Find(os.Getenv("TRIPTYCH_ONNXRUNTIME"))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		a, err := engine.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := engine.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Open(filepath.Join(t.TempDir(), "other.so")); err == nil {
			t.Fatal("two libraries in one process")
		}
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { _ = a.Close() })
		}
		group.Wait()
		session, err := b.Load(t.Context(), testModel(t, "identity_fp32", `max_batch_size: 4`+fp32), "testdata", settings())
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Close(); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	platform := runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	root := t.TempDir()
	for _, version := range []string{"1.9.0", "1.24.4", "1.24.3"} {
		directory := filepath.Join(root, ".cache", "onnxruntime", version, platform)
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "libonnxruntime.so"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	below := filepath.Join(root, "services", "predictor")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	t.Setenv("TRIPTYCH_CACHE", "")

	t.Run("the newest in the cache above", func(t *testing.T) {
		got, err := engine.Find("")
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(root, ".cache", "onnxruntime", "1.24.4", platform, "libonnxruntime.so"); got != want {
			t.Errorf("found %s, want %s", got, want)
		}
	})
	t.Run("TRIPTYCH_CACHE goes first", func(t *testing.T) {
		moved := filepath.Join(t.TempDir(), "onnxruntime", "1.24.3", platform)
		if err := os.MkdirAll(moved, 0o700); err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(moved, "libonnxruntime.so")
		if err := os.WriteFile(want, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TRIPTYCH_CACHE", filepath.Join(moved, "..", "..", ".."))
		if got, err := engine.Find(""); err != nil || got != want {
			t.Errorf("found %s, %v, want %s", got, err, want)
		}
		t.Setenv("TRIPTYCH_CACHE", t.TempDir())
		if got, err := engine.Find(""); err != nil || !strings.HasPrefix(got, root) {
			t.Errorf("found %s, %v, want one below %s, for the moved cache is empty", got, err, root)
		}
	})
	t.Run("explicit", func(t *testing.T) {
		file := filepath.Join(root, "mine.so")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := engine.Find(file); err != nil || got != file {
			t.Errorf("found %s, %v", got, err)
		}
	})
	t.Run("explicit and missing", func(t *testing.T) {
		_, err := engine.Find(filepath.Join(root, "nothing.so"))
		wantFailure(t, err, failure.Invalid, "nothing.so: run \"make setup\", or set TRIPTYCH_ONNXRUNTIME")
	})
}

func TestParseDevice(t *testing.T) {
	for text, want := range map[string]engine.Device{
		"auto": {Kind: engine.Auto}, "cpu": {Kind: engine.CPU}, "cuda": {Kind: engine.CUDA, ID: engine.Every}, "cuda:3": {Kind: engine.CUDA, ID: 3},
		"tensorrt": {Kind: engine.TensorRT, ID: engine.Every}, "tensorrt:1": {Kind: engine.TensorRT, ID: 1},
	} {
		if got, err := engine.ParseDevice(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "auto:1", "CUDA", "cuda:99999999"} {
		if _, err := engine.ParseDevice(text); err == nil {
			t.Errorf("%q is taken for a device", text)
		}
	}
}
