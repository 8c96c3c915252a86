package decode_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// fuzzLimits keep one input of a fuzz target cheap.
func fuzzLimits() decode.Limits {
	return decode.Limits{Bytes: 1 << 16, Pixels: 1 << 18, Side: 1 << 12}
}

// seeds are the case images of these formats, of all formats if none is named.
func seeds(f *testing.F, formats ...decode.Format) [][]byte {
	f.Helper()
	var found [][]byte
	for _, path := range cases(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		header, _ := decode.Open(data, options()) // of a broken file the format is known too
		if len(data) < 32<<10 && (len(formats) == 0 || slices.Contains(formats, header.Format)) {
			found = append(found, data)
		}
	}
	return found
}

// check is what holds for every decoder, whatever the bytes: there are pixels
// within the limits or the file is to blame, and no decoder panics.
func check(t *testing.T, data []byte, opts decode.Options) (decoded, bool) {
	t.Helper()
	got, err := decodeAll(data, opts)
	if err != nil {
		blamed(t, err)
		return got, false
	}
	if n := int64(got.Image.Rect.Dx()) * int64(got.Image.Rect.Dy()); n < 1 || n > opts.Limits.Pixels {
		t.Fatalf("%d pixels", n)
	}
	return got, true
}

// blamed wants an error to blame the file.
func blamed(t *testing.T, err error) {
	t.Helper()
	var panicked *failure.Panic
	if errors.As(err, &panicked) {
		t.Fatal(err)
	}
	switch failure.KindOf(err) {
	case failure.BrokenImage, failure.UnsupportedMedia, failure.TooLarge:
	default:
		t.Fatalf("%s: %v", failure.KindOf(err), err)
	}
}

// FuzzDecode is given every format, and bytes of none.
func FuzzDecode(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Add(animation(f, 2, 2))
	f.Add(unhex(f, "52494646 14000000 57454250 5650384C 08000000 2FFFFFFF 0F888808"))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data, decode.Options{Limits: fuzzLimits()}) })
}
