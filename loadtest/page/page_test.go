package page_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"triptych/loadtest/page"
)

func written(t *testing.T, r *page.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "page.html"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFull(t *testing.T) {
	written(t, full())
}
