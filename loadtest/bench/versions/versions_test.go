package versions_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"triptych/loadtest/bench/versions"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func served(string) error { return nil }

// folder is that of a version.
func folder(r *versions.Repository, version int) string {
	return filepath.Join(r.Root, versions.Classifier, strconv.Itoa(version))
}

// same holds the file of a version against that of the repository that it is from.
func same(t *testing.T, r *versions.Repository, version int) {
	t.Helper()
	got, err := os.Stat(filepath.Join(folder(r, version), "model.onnx"))
	want, werr := os.Stat(filepath.Join(testkit.Path(t, "models"), versions.Classifier, strconv.Itoa(2-version%2), "model.onnx"))
	if err != nil || werr != nil || got.Size() != want.Size() {
		t.Errorf("version %d: %v, %v", version, err, werr)
	}
}

func TestRepository(t *testing.T) {
	r, err := versions.New(testkit.Path(t, "models"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		if n > 1 {
			if err := r.Swap(served); err != nil {
				t.Fatal(err)
			}
		}
		same(t, r, n)
	}
	config, err := os.ReadFile(filepath.Join(r.Root, versions.Classifier, "config.pbtxt"))
	if err != nil || !strings.Contains(string(config), "version_policy { latest { num_versions: 1 } }") {
		t.Errorf("error %v, configuration\n%s", err, config)
	}
}

func TestSwap(t *testing.T) {
	r, err := versions.New(testkit.Path(t, "models"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Swap(func(string) error { return errors.New("it rains") }); err == nil {
		t.Error("a load that failed is none")
	}
	same(t, r, 1) // which is still served
	if err := r.Swap(served); err != nil || r.Latest() != 3 {
		t.Errorf("version %d, error %v", r.Latest(), err)
	}
	same(t, r, 3)
	if _, err := os.Stat(folder(r, 2)); err == nil {
		t.Error("the version before is still there")
	}
	if _, err := versions.New(t.TempDir(), t.TempDir()); err == nil {
		t.Error("a repository of nothing")
	}
}
