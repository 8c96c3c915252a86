package decode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// sample is a file of services/preprocess/testdata/<folder> and the digest of
// its RGB pixels: Pillow's, or ours where golden.json says why they differ.
type sample struct {
	File          string
	Width, Height int
	SHA256        string
	// JPEG is true for files with JPEG data inside.
	JPEG bool
}

func corpus(tb testing.TB, folder string) []sample {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", folder, "golden.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(data, &all); err != nil || len(all) == 0 {
		tb.Fatalf("%d samples: %v", len(all), err)
	}
	return all
}

func (s sample) read(tb testing.TB, folder string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", folder, s.File))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// checkCorpus compares every sample with its golden pixels.
func checkCorpus(t *testing.T, folder string) {
	t.Helper()
	for _, s := range corpus(t, folder) {
		t.Run(s.File, func(t *testing.T) {
			got, err := decodeAll(s.read(t, folder), options())
			if err != nil {
				t.Fatal(err)
			}
			if size := got.Image.Rect.Size(); size != image.Pt(s.Width, s.Height) {
				t.Errorf("size is %v, want %dx%d", size, s.Width, s.Height)
			}
			if (!s.JPEG || exact(decode.JPEG)) && sum(rgb(got.Image)) != s.SHA256 {
				t.Errorf("pixels differ from the golden ones; the first are %v", rgb(got.Image)[:min(24, 3*s.Width)])
			}
		})
	}
}

// checkRegions compares parts of the picture with the whole.
func checkRegions(t *testing.T, folder string) {
	t.Helper()
	for _, s := range corpus(t, folder) {
		t.Run(s.File, func(t *testing.T) {
			data := s.read(t, folder)
			whole := part(t, data, image.Rectangle{})
			for _, region := range []image.Rectangle{image.Rect(0, 0, 1, 1), image.Rect(5, 3, 30, 20), image.Rect(17, 16, 29, 27)} {
				region = region.Intersect(image.Rectangle{Max: whole.Size})
				got := part(t, data, region)
				if !region.In(got.Bounds) || got.Size != whole.Size {
					t.Fatalf("%v of %v was given for %v of %v", got.Bounds, got.Size, region, whole.Size)
				}
				for y := got.Bounds.Min.Y; y < got.Bounds.Max.Y; y++ {
					want := whole.Row(y)[3*got.Bounds.Min.X : 3*got.Bounds.Max.X]
					if !bytes.Equal(got.Row(y), want) {
						t.Fatalf("%v: row %d differs from the whole picture's", region, y)
					}
				}
			}
		})
	}
}

func part(t *testing.T, data []byte, region image.Rectangle) *pixels.Image {
	t.Helper()
	h, err := decode.Open(data, options())
	if err != nil {
		t.Fatal(err)
	}
	img, err := h.Decode(context.Background(), new(pixels.Pool), decode.View{Region: region})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// checkDamage cuts every sample at every place, and changes bytes of it. There
// are pixels, or the file is to blame.
func checkDamage(t *testing.T, folder string) {
	t.Helper()
	for _, s := range corpus(t, folder) {
		t.Run(s.File, func(t *testing.T) {
			data := s.read(t, folder)
			for n := range data {
				blamesTheFile(t, data[:n], "cut")
			}
			random := rand.New(rand.NewPCG(1, uint64(len(data))))
			for range 300 {
				damaged := slices.Clone(data)
				for range 1 + random.IntN(4) {
					damaged[random.IntN(min(len(data), 1+random.IntN(len(data))))] = byte(random.IntN(256))
				}
				blamesTheFile(t, damaged, "changed")
			}
		})
	}
}

// blamesTheFile decodes within small limits. Whatever the bytes, there are
// pixels, or an error that is the file's, and never a panic.
func blamesTheFile(t *testing.T, data []byte, how string) {
	t.Helper()
	limits := decode.Limits{Bytes: 1 << 20, Pixels: 1 << 18, Side: 1 << 12}
	h, err := decode.Open(data, decode.Options{Limits: limits})
	if err == nil {
		var img *pixels.Image
		if img, err = h.Decode(context.Background(), new(pixels.Pool), decode.View{}); err == nil {
			if n := int64(img.Size.X) * int64(img.Size.Y); n < 1 || n > limits.Pixels || 3*n != int64(len(img.Pix)) {
				t.Fatalf("%v pixels in %d bytes", img.Size, len(img.Pix))
			}
			return
		}
	}
	var panicked *failure.Panic
	if errors.As(err, &panicked) {
		t.Fatalf("%s at %d bytes: %v", how, len(data), err)
	}
	switch failure.KindOf(err) {
	case failure.BrokenImage, failure.UnsupportedMedia, failure.TooLarge:
	default:
		t.Fatalf("%s at %d bytes: %s: %v", how, len(data), failure.KindOf(err), err)
	}
}

// fuzzCorpus seeds a fuzz target with a folder's samples and the case images of
// a format, and lets it run on whatever begins like that format.
func fuzzCorpus(f *testing.F, folder, pattern string) {
	f.Helper()
	for _, s := range corpus(f, folder) {
		f.Add(s.read(f, folder))
	}
	for _, path := range cases(f) {
		if ok, err := filepath.Match(pattern, filepath.Base(path)); err != nil || !ok {
			continue
		}
		if data := read(f, "cases", "images", filepath.Base(path)); len(data) < 32<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { blamesTheFile(t, data, "fuzzed") })
}
