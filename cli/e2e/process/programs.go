package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// packages are where the programs of the services are.
var packages = map[string]string{
	"gateway":     "triptych/gateway/cmd/gateway",
	"preprocess":  "triptych/services/preprocess/cmd/preprocess",
	"predictor":   "triptych/services/predictor/cmd/predictor",
	"postprocess": "triptych/services/postprocess/cmd/postprocess",
}

// Programs is a folder with the programs of the four services: the one that the
// environment names as TEST_PROGRAMS, else they are built.
func Programs(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv("TEST_PROGRAMS"); dir != "" {
		return dir
	}
	dir := tb.TempDir()
	for name, pkg := range packages {
		out, err := exec.CommandContext(tb.Context(), "go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			tb.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}
