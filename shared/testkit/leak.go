// Package testkit is what the tests of all modules share: the leak check, paths
// into the repository, free ports, waiting. Model servers for tests are in
// servertest. Only tests import it.
package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Main runs a package's tests and fails when a goroutine outlives them. Every
// package's TestMain calls it.
func Main(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(m, options...)
}

// Root is the root of the repository: the nearest folder above with a go.work.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.work above the test's folder")
		}
		dir = parent
	}
}

// Path is a path inside the repository, such as Path(tb, "testdata", "images").
func Path(tb testing.TB, elements ...string) string {
	tb.Helper()
	return filepath.Join(append([]string{Root(tb)}, elements...)...)
}
