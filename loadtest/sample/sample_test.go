package sample_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/sample"
	"triptych/shared/failure"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.jpg"), "B")
	write(t, filepath.Join(dir, "a.jpg"), "A")
	write(t, filepath.Join(dir, ".hidden"), "H")
	write(t, filepath.Join(dir, "within", "c.jpg"), "C")
	got, err := sample.Read(filepath.Join(dir, "within", "c.jpg"), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []sample.Image{{Name: "c.jpg", Data: []byte("C")}, {Name: "a.jpg", Data: []byte("A")}, {Name: "b.jpg", Data: []byte("B")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	huge := filepath.Join(t.TempDir(), "huge.jpg")
	write(t, huge, "")
	if err := os.Truncate(huge, sample.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path, want string
		kind             failure.Kind
	}{
		{"absent", filepath.Join(t.TempDir(), "nothing.jpg"), "nothing.jpg can't be read", failure.Invalid},
		{"empty folder", t.TempDir(), "no images", failure.Invalid},
		{"too large", huge, "more than 1073741824 bytes", failure.TooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := sample.Read(tt.path); failure.KindOf(err) != tt.kind || !strings.Contains(failure.Message(err), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}
