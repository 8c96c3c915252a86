package style_test

import (
	"os"
	"testing"

	"triptych/cli/style"
)

func TestNoColourOutsideTerminals(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := style.For(file)
	if got := s.Paint(style.Red, "x") + s.Bold("y"); got != "xy" {
		t.Errorf("a file gets %q, want plain text", got)
	}
}
