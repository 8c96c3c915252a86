package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"triptych/shared/testkit"
)

// REP-08, ORT-04: a service that reloads its models does not grow. What stays is a few
// megabytes, by chance; without the trim it is 200 and more.
func TestReloadsGiveMemoryBack(t *testing.T) {
	lib := library(t)
	cfg, directory := sampleModel(t)
	reload := func(times int) int64 {
		for range times {
			session, err := lib.Load(t.Context(), cfg, filepath.Join(directory, "1"), settings())
			if err != nil {
				t.Fatal(err)
			}
			if err := session.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return testkit.Resident(t)
	}
	file, err := os.Stat(filepath.Join(directory, "1", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	before := reload(10)
	if growth := reload(30) - before; growth > 4*file.Size() {
		t.Errorf("30 reloads keep %d MB, more than four times the model's %d MB", growth>>20, file.Size()>>20)
	}
}
