package decode

import (
	"image"
	"os"
	"path/filepath"
	"testing"

	"triptych/shared/testkit"
)

// stills are the pictures in all WebP files among the test data, by name.
func stills(tb testing.TB) map[string]webpStill {
	tb.Helper()
	found := map[string]webpStill{}
	for _, pattern := range []string{
		testkit.Path(tb, "testdata", "images", "*.webp"),
		testkit.Path(tb, "testdata", "cases", "images", "*.webp"),
		filepath.Join("..", "testdata", "*", "*.webp"),
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			tb.Fatalf("no files at %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			f := scanWebP(data)
			const head = 16
			if f.still.size == (image.Point{}) && len(f.frame) > head {
				f.still = stillIn(f.frame[head:])
			}
			found[filepath.Base(path)] = f.still
		}
	}
	return found
}

// head is that of the lossless bitstream in a picture, if it has one.
func (s webpStill) head() (head vp8lHead, ok bool, err error) {
	switch {
	case s.lossless:
		head, err = vp8lOf(s.bitstream, s.size)
	case s.packedAlpha != nil:
		head, err = vp8lOfAlpha(s.packedAlpha, s.size)
	}
	return head, head.groups > 0 || err != nil, err
}

// heads are the groups, the bits of the color cache and the pixels of the images
// in the head, as libwebp 1.2.4 had them when it was made to print them.
var heads = map[string]vp8lHead{
	"adobe.webp":                         {1, 5, 2},
	"alpha_without_extension.webp":       {1, 0, 0},
	"animated.webp":                      {1, 0, 74},
	"animated_alpha_unannounced.webp":    {1, 0, 0},
	"animated_lossless.webp":             {1, 0, 2},
	"animated_lossless_unannounced.webp": {1, 8, 2},
	"animated_offset_lossless.webp":      {1, 8, 2},
	"animated_offset_lossy.webp":         {1, 0, 0},
	"astronaut.webp":                     {11, 0, 18432},
	"extended_alpha_unannounced.webp":    {1, 0, 0},
	"extended_lossless_unannounced.webp": {1, 9, 2},
	"extended_unknown_chunks.webp":       {1, 0, 0},
	"ll.webp":                            {2, 0, 288},
	"lossless_exact.webp":                {1, 9, 2},
	"lossless_not_exact.webp":            {1, 8, 71},
	"lossless_palette.webp":              {1, 1, 12},
	"lossless_rgb.webp":                  {1, 7, 2},
	"lossless_two_colors.webp":           {1, 0, 2},
	"lossy_alpha.webp":                   {1, 0, 0},
	"lossy_alpha_coarse.webp":            {1, 0, 6},
	"p3.webp":                            {1, 5, 2},
	"table.webp":                         {1, 5, 2},
}

func TestLosslessHeadsAreReadAsLibwebpReadsThem(t *testing.T) {
	found := stills(t)
	for name := range heads {
		if _, ok := found[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	for name, s := range found {
		want, lossless := heads[name]
		got, ok, err := s.head()
		switch {
		case name == "alpha_corrupt.webp":
			if err == nil {
				t.Errorf("%s: got %+v", name, got)
			}
		case err != nil || ok != lossless || got != want:
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}
