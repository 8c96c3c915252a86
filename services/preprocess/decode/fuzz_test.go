package decode_test

import (
	"errors"
	"os"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// FuzzDecode: whatever the bytes, there are pixels or the file is to blame, and
// no decoder panics.
func FuzzDecode(f *testing.F) {
	for _, path := range cases(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 32<<10 {
			f.Add(data)
		}
	}
	f.Add(animation(f, 2, 2))
	f.Add(unhex(f, "52494646 14000000 57454250 5650384C 08000000 2FFFFFFF 0F888808"))
	limits := decode.Limits{Bytes: 1 << 16, Pixels: 1 << 18, Side: 1 << 12}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeAll(data, decode.Options{Limits: limits})
		var panicked *failure.Panic
		if errors.As(err, &panicked) {
			t.Fatal(err)
		}
		if err == nil {
			if n := int64(got.Image.Rect.Dx()) * int64(got.Image.Rect.Dy()); n < 1 || n > limits.Pixels {
				t.Fatalf("%d pixels", n)
			}
			return
		}
		switch failure.KindOf(err) {
		case failure.BrokenImage, failure.UnsupportedMedia, failure.TooLarge:
		default:
			t.Fatalf("%s: %v", failure.KindOf(err), err)
		}
	})
}
