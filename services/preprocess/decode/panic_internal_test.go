package decode

import (
	"errors"
	"image"
	"image/color"
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

// imaging would panic in a goroutine of its own on this, and end the process.
func TestPaletteIndexIsChecked(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black})
	img.Pix[3] = 1
	if _, err := straight(img); !errors.Is(err, errPaletteIndex) {
		t.Errorf("got %v, want %v", err, errPaletteIndex)
	}
}
