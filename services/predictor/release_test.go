package predictor_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// registry serves a folder with ONNX Runtime; it has loaded everything.
func registry(t *testing.T, folder string) (*modelserver.Registry, *modelserver.Service) {
	t.Helper()
	b, _ := backend(t)
	r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, b)
	if err := r.LoadAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := r.Ready(); err != nil {
		t.Fatal(err)
	}
	return r, modelserver.NewService(modelserver.Info{}, r, true)
}

func states(r *modelserver.Registry) []string {
	var lines []string
	for _, m := range r.Index(false) {
		lines = append(lines, m.GetVersion()+" "+m.GetState())
	}
	return lines
}

// REP-01, REP-04: a new version is copied into a repository that is followed, with
// a pause in the middle that is long enough for the half of it to be tried, while
// calls run: none fails, the old version answers until the new one is whole.
func TestReleaseByASlowCopy(t *testing.T) {
	const name = "efficientnet_lite0"
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, name), withoutVersion(t, testkit.Path(t, "models", name), "2")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, name, "config.pbtxt")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	latest := bytes.Replace(text, []byte("version_policy"), []byte("#"), 1) // newest only
	if err := os.WriteFile(config, latest, 0o600); err != nil {
		t.Fatal(err)
	}
	r, s := registry(t, folder)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { r.Poll(ctx, 50*time.Millisecond, 50*time.Millisecond) })
	var mu sync.Mutex
	var answered []string // versions, each once in a row
	running.Go(func() {
		for ctx.Err() == nil {
			req := picture(1, 1)
			req.ModelName = name
			resp, err := s.ModelInfer(context.Background(), req)
			if err != nil {
				t.Errorf("a call failed: %v", err)
				return
			}
			mu.Lock()
			if v := resp.GetModelVersion(); len(answered) == 0 || answered[len(answered)-1] != v {
				answered = append(answered, v)
			}
			mu.Unlock()
		}
	})
	whole, err := os.ReadFile(testkit.Path(t, "models", name, "2", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	servertest.Write(t, folder, map[string]string{name + "/2/": ""})
	file, err := os.Create(filepath.Join(folder, name, "2", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for half := range slices.Chunk(whole, len(whole)/2+1) {
		for part := range slices.Chunk(half, len(whole)/20) {
			if _, err := file.Write(part); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if len(half) > len(whole)/2 { // the first half
			testkit.Eventually(t, 20*time.Second, "the half has been refused", func() bool { return slices.Equal(states(r), []string{"1 READY", "2 UNAVAILABLE"}) })
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 20*time.Second, "the new version answers", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(answered) > 0 && answered[len(answered)-1] == "2"
	})
	cancel()
	running.Wait()
	if !slices.Equal(answered, []string{"1", "2"}) {
		t.Errorf("answers came from the versions %v", answered)
	}
}

// withoutVersion is a model's folder without one of its versions.
func withoutVersion(t *testing.T, directory, version string) fs.FS {
	t.Helper()
	return hiding{os.DirFS(directory), version}
}

type hiding struct {
	fs.FS
	name string
}

// ReadDir implements fs.ReadDirFS.
func (h hiding) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(h.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return name == "." && e.Name() == h.name }), err
}

// REP-08: 200 reloads of a small model with its batcher, statistics and metrics
// leave nothing behind.
func TestManyReloads(t *testing.T) {
	const name = "small"
	model, err := os.ReadFile(filepath.Join("engine", "testdata", "dynamic_fp32.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	folder := servertest.Repository(t, map[string]string{name + "/config.pbtxt": `backend: "onnxruntime"`, name + "/1/model.onnx": string(model)})
	r, s := registry(t, folder)
	cfg, err := r.Config(name, "")
	if err != nil {
		t.Fatal(err)
	}
	req := func() *inference.ModelInferRequest {
		shape := []int64{1}
		for _, d := range cfg.GetInput()[0].GetDims() {
			shape = append(shape, max(d, 1))
		}
		size, q := int64(4), &inference.ModelInferRequest{ModelName: name}
		for _, d := range shape {
			size *= d
		}
		oip.AddInput(q, oip.Tensor{Name: cfg.GetInput()[0].GetName(), Datatype: "FP32", Shape: shape, Data: make([]byte, size)})
		return q
	}
	reload := func(from, to int) int64 {
		for n := from; n < to; n++ {
			servertest.Write(t, folder, map[string]string{name + "/labels.txt": fmt.Sprint(n)})
			if err := r.Load(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if _, err := s.ModelInfer(t.Context(), req()); err != nil {
				t.Fatal(err)
			}
		}
		return testkit.Resident(t)
	}
	before := reload(0, 20)
	const most = 16 << 20
	if growth := reload(20, 200) - before; growth > most {
		t.Errorf("180 reloads keep %d MB", growth>>20)
	}
}
