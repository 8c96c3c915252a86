package process

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// packages are where the programs of the services are.
var packages = map[string]string{
	"gateway":     "triptych/gateway/cmd/gateway",
	"preprocess":  "triptych/services/preprocess/cmd/preprocess",
	"predictor":   "triptych/services/predictor/cmd/predictor",
	"postprocess": "triptych/services/postprocess/cmd/postprocess",
}

// Programs is a folder with the programs of the services with those names, of all four
// for none: the one that the environment names as TEST_PROGRAMS, else they are built.
func Programs(tb testing.TB, names ...string) string {
	tb.Helper()
	if dir := os.Getenv("TEST_PROGRAMS"); dir != "" {
		return dir
	}
	dir := tb.TempDir()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(packages))
	}
	for _, name := range names {
		out, err := exec.CommandContext(tb.Context(), "go", "build", "-o", filepath.Join(dir, name), packages[name]).CombinedOutput()
		if err != nil {
			tb.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}
