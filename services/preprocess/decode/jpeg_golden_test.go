//go:build cgo && !portable

package decode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// jpegGolden is what Pillow makes of a file: see testdata/make_jpeg.py.
type jpegGolden struct {
	File, Of      string
	Refused       string
	Width, Height int
	Reduce        int
	SHA256        string
}

// unfinished are progressive files that end before all is said. What is missing is
// smoothed over, which libjpeg-turbo does well only since 3.0.1 (its issues 700
// and 721), so the pixels depend on the library's version.
func unfinished(file string) bool {
	return slices.Contains([]string{"scans_coarse.jpg", "scans_no_last_bits.jpg", "scans_only_dc.jpg"}, file)
}

func readJPEGGolden(tb testing.TB) []jpegGolden {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "jpeg.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var golden []jpegGolden
	if err := json.Unmarshal(data, &golden); err != nil {
		tb.Fatal(err)
	}
	return golden
}

// jpegSamples are the golden files by name: ours, and Go's own.
func jpegSamples(tb testing.TB) map[string][]byte {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		tb.Fatal(err)
	}
	goroot := filepath.Join(strings.TrimSpace(string(out)), "src", "image", "testdata")
	samples := map[string][]byte{}
	for _, golden := range readJPEGGolden(tb) {
		path := filepath.Join("..", "testdata", "jpeg", golden.File)
		if file, ok := strings.CutPrefix(golden.File, "GOROOT/"); ok {
			path = filepath.Join(goroot, file)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		if of := sum(data)[:16]; of != golden.Of {
			tb.Fatalf("%s is not the file that Pillow was given: %s", golden.File, of)
		}
		samples[golden.File] = data
	}
	return samples
}

// view decodes a part of a file.
func view(data []byte, v decode.View) (*pixels.Image, error) { return viewWithin(data, options(), v) }

func viewWithin(data []byte, opts decode.Options, v decode.View) (*pixels.Image, error) {
	return viewFrom(&pixels.Pool{}, data, opts, v)
}

func viewFrom(pool *pixels.Pool, data []byte, opts decode.Options, v decode.View) (*pixels.Image, error) {
	h, err := decode.Open(data, opts)
	if err != nil {
		return nil, err
	}
	return h.Decode(context.Background(), pool, v)
}

// DEC-06, DEC-08, DEC-14, PRE-07: every sampling, color model and coding, whole
// and reduced.
func TestJPEGPixelsEqualPillows(t *testing.T) {
	samples := jpegSamples(t)
	for _, want := range readJPEGGolden(t) {
		t.Run(fmt.Sprintf("%s by %d", want.File, want.Reduce), func(t *testing.T) {
			got, err := view(samples[want.File], decode.View{Reduce: want.Reduce})
			switch {
			case want.Refused != "":
				if kind := failure.KindOf(err); kind != failure.BrokenImage && kind != failure.UnsupportedMedia {
					t.Errorf("got %v, Pillow refuses it: %s", err, want.Refused)
				}
			case err != nil:
				t.Error(err)
			case got.Bounds != image.Rectangle{Max: got.Size}:
				t.Errorf("bounds are %v of %v", got.Bounds, got.Size)
			case sum(got.Pix) != want.SHA256 && !unfinished(want.File):
				t.Error("pixels differ from Pillow's")
			}
		})
	}
}
