package decode

import (
	"errors"
	"testing"

	"triptych/shared/failure"
)

// No known file makes a decoder panic, so the net below them is tested from
// inside.
func TestPanicBecomesABrokenImage(t *testing.T) {
	fall := func() (format Format, err error) {
		defer recoverInto(&format, &err)
		format = TIFF
		pixels := make([]byte, 1)
		_ = pixels[len(pixels)] // out of range
		return format, nil
	}
	_, err := fall()
	var panicked *failure.Panic
	if failure.KindOf(err) != failure.BrokenImage || !errors.As(err, &panicked) || len(panicked.Stack) == 0 {
		t.Fatalf("got %v, want a broken image that is caused by a panic", err)
	}
	if got, want := failure.Message(err), "the TIFF image is corrupt"; got != want {
		t.Errorf("message is %q, want %q", got, want)
	}
}
