package decode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// golden is what Pillow makes of a file: digests of its RGB bytes, also laid over
// goldenBackground (testdata/golden.py). A broken image has neither.
type golden struct {
	File          string
	Width, Height int
	SHA256, Over  string
}

var goldenBackground = decode.Color{10, 200, 90}

// folder is the path of a file in this module's testdata.
func folder(elements ...string) string {
	return filepath.Join(append([]string{"..", "testdata"}, elements...)...)
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func readGolden(tb testing.TB, path string) []golden {
	tb.Helper()
	var rows []golden
	if err := json.Unmarshal(readFile(tb, path), &rows); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// checkGolden decodes a file both ways and holds it against Pillow's digests.
func checkGolden(t *testing.T, path string, want golden) {
	t.Helper()
	data := readFile(t, path)
	if want.SHA256 == "" {
		if _, err := decodeAll(data, options()); failure.KindOf(err) != failure.BrokenImage {
			t.Errorf("got %v, want a broken image", err)
		}
		return
	}
	over := options()
	over.Background = &goldenBackground
	for _, way := range []struct {
		name, digest string
		opts         decode.Options
	}{{"as stored", want.SHA256, options()}, {"over a color", want.Over, over}} {
		if way.digest == "" {
			continue // Pillow has no right pixels to compare with
		}
		got, err := decodeAll(data, way.opts)
		if err != nil {
			t.Errorf("%s: %v", way.name, err)
			continue
		}
		if size := got.Image.Rect.Size(); size != image.Pt(want.Width, want.Height) {
			t.Errorf("%s: size is %v, want %dx%d", way.name, size, want.Width, want.Height)
		}
		if exact(got.Format) && sum(rgb(got.Image)) != way.digest {
			t.Errorf("%s: pixels differ from Pillow's", way.name)
		}
	}
}

// checkParts decodes parts of a file and holds them against the whole.
func checkParts(t *testing.T, path string) {
	t.Helper()
	data := readFile(t, path)
	for _, background := range []*decode.Color{nil, &goldenBackground} {
		opts := options()
		opts.Background = background
		h, err := decode.Open(data, opts)
		if err != nil {
			t.Fatal(err)
		}
		var pool pixels.Pool
		all, err := h.Decode(t.Context(), &pool, decode.View{})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, uint64(len(data))))
		for range 40 {
			x, y := random.IntN(h.Width), random.IntN(h.Height)
			region := image.Rect(x, y, x+1+random.IntN(h.Width-x), y+1+random.IntN(h.Height-y))
			part, err := h.Decode(t.Context(), &pool, decode.View{Region: region})
			if err != nil {
				t.Fatalf("%v: %v", region, err)
			}
			if !region.In(part.Bounds) {
				t.Fatalf("%v: got only %v", region, part.Bounds)
			}
			for y := region.Min.Y; y < region.Max.Y; y++ {
				from, to := pixels.Samples*region.Min.X, pixels.Samples*region.Max.X
				skip := pixels.Samples * part.Bounds.Min.X
				if !bytes.Equal(part.Row(y)[from-skip:to-skip], all.Row(y)[from:to]) {
					t.Fatalf("%v: row %d differs from the whole picture's", region, y)
				}
			}
			part.Release()
		}
		all.Release()
	}
}

// leaving is the context of a caller that goes after some looks at it.
type leaving struct {
	context.Context
	looks int
}

func (c *leaving) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}
