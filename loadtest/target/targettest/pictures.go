package targettest

import (
	"os"
	"path/filepath"
	"testing"
)

// Pictures makes a folder of images that hold their own names.
func Pictures(tb testing.TB, names ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
