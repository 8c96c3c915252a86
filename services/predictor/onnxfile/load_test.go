package onnxfile_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/services/predictor/engine"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/testkit/servertest"
)

// load completes a configuration from the folder and loads it, as the predictor
// does.
func load(t *testing.T, folder string) (*engine.Session, error) {
	t.Helper()
	cfg := &inference.ModelConfig{Name: "m"}
	lib := library(t)
	if err := lib.Complete(cfg, folder); err != nil {
		return nil, err
	}
	session, err := lib.Load(t.Context(), cfg, folder, engine.Settings{Device: engine.Device{Kind: engine.CPU}, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(func() { must(t, session.Close()) })
	}
	return session, err
}

// ORT-06: the runtime finds the weights beside the model file, in the version's
// folder or in the folder that is called like the file, and the file is read by
// its path, not from memory.
func TestLoadExternal(t *testing.T) {
	content := model(adding("location", "the weights.bin", "offset", "4", "length", "12"))
	data := servertest.Raw(-1, 1, 2, 3)
	for name, folder := range map[string]string{"beside": "", "in a folder of the file's name": "model.onnx"} {
		t.Run(name, func(t *testing.T) {
			version := t.TempDir()
			put(t, filepath.Join(version, folder, "model.onnx"), content)
			weights := filepath.Join(version, folder, "the weights.bin")
			put(t, weights, data)
			session, err := load(t, version)
			must(t, err)
			outputs, err := session.Run(t.Context(), []oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 3}, Data: servertest.Raw(10, 20, 30)}})
			must(t, err)
			if diff := cmp.Diff([]float32{11, 22, 33}, servertest.Floats(outputs[0].Data)); diff != "" {
				t.Error(diff)
			}
			must(t, os.Truncate(weights, 15))
			if _, err = load(t, version); err == nil {
				t.Fatal("weights without their last byte are loaded")
			}
			wantFailure(t, err, `model "m": model.onnx can't be loaded: its weights "the weights.bin" end in the middle: they have 15 bytes, but "w" is 12 bytes at 4`)
			if failure.KindOf(err) != failure.Invalid {
				t.Error(err)
			}
		})
	}
}

// A model over 2 GB has its weights in another file. This one's are 2.4 GB of
// holes, of which one row is read: the runtime maps the file.
func TestLoadOver2GB(t *testing.T) {
	const rows, width = 600_000, 1000
	folder := t.TempDir()
	put(t, filepath.Join(folder, "model.onnx"), model(part(7,
		part(1, text(1, "w"), text(1, "x"), text(2, "y"), text(4, "Gather")), text(2, "g"),
		weights(5, "w", []uint64{rows, width}, "location", "w.bin"), valueOf(7, 11, "x", 1, 1), value(12, "y", 1, 1, width))))
	put(t, filepath.Join(folder, "w.bin"), nil)
	must(t, os.Truncate(filepath.Join(folder, "w.bin"), rows*width*4))
	f, err := os.OpenFile(filepath.Join(folder, "w.bin"), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(servertest.Raw(7), (rows-1)*width*4)
	must(t, err)
	must(t, f.Close())
	session, err := load(t, folder)
	must(t, err)
	last := []byte{0xbf, 0x27, 0x09, 0, 0, 0, 0, 0} // 599 999
	outputs, err := session.Run(t.Context(), []oip.Tensor{{Name: "x", Datatype: "INT64", Shape: []int64{1, 1}, Data: last}})
	must(t, err)
	if got := servertest.Floats(outputs[0].Data); got[0] != 7 || got[1] != 0 {
		t.Errorf("the last row begins with %v", got[:2])
	}
}
