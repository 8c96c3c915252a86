package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"triptych/shared/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(m, goleak.Cleanup(func(status int) {
		if binary, err := build(); err == nil {
			_ = os.RemoveAll(filepath.Dir(binary)) // a temporary folder
		}
		os.Exit(status)
	}))
}

// build makes the program once, without the race detector, whose memory and processor
// time would not be the service's.
var build = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "preprocess")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "preprocess")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
})
