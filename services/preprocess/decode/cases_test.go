package decode_test

import (
	"encoding/json"
	"errors"
	"image"
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// verdict is what becomes of a file, as testdata/cases/verdicts.json has it.
type verdict struct {
	File    string `json:"file"`
	Verdict string `json:"verdict"`
	// Portable is the verdict in builds without C libraries, where it is another.
	Portable string `json:"portable"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	// SHA256 is that of Pillow's pixels, empty where ours differ on purpose.
	SHA256 string `json:"sha256"`
}

// kind is the failure that the file gets in this build, or false when it gets
// pixels.
func (v verdict) kind(tb testing.TB) (failure.Kind, bool) {
	tb.Helper()
	word := v.Verdict
	if v.Portable != "" && decode.JPEGDecoder != "libjpeg-turbo" {
		word = v.Portable
	}
	kind, ok := map[string]failure.Kind{
		"broken": failure.BrokenImage, "unsupported": failure.UnsupportedMedia, "too_large": failure.TooLarge,
	}[word]
	if !ok && word != "pixels" {
		tb.Fatalf("%s: unknown verdict %q", v.File, word)
	}
	return kind, ok
}

func readVerdicts(tb testing.TB) []verdict {
	tb.Helper()
	var all []verdict
	if err := json.Unmarshal(read(tb, "cases", "verdicts.json"), &all); err != nil {
		tb.Fatal(err)
	}
	if len(all) != len(cases(tb)) {
		tb.Fatalf("%d verdicts for %d files", len(all), len(cases(tb)))
	}
	return all
}

func TestCaseImages(t *testing.T) {
	for _, want := range readVerdicts(t) {
		t.Run(want.File, func(t *testing.T) {
			got, err := decodeAll(read(t, "cases", "images", want.File), options())
			if kind, bad := want.kind(t); bad {
				switch {
				case err == nil || failure.KindOf(err) != kind:
					t.Errorf("got %v, want %s", err, kind)
				case strings.ContainsAny(failure.Message(err), "\n\x00"):
					t.Errorf("message is not one line: %q", failure.Message(err))
				}
				return
			}
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if want := image.Rect(0, 0, want.Width, want.Height); got.Image.Rect != want {
				t.Errorf("bounds are %v, want %v", got.Image.Rect, want)
			}
			same := exact(got.Format) && (want.File != "jpegcomp.tif" || exact(decode.JPEG))
			if want.SHA256 != "" && same && sum(rgb(got.Image)) != want.SHA256 {
				t.Error("pixels differ from Pillow's")
			}
		})
	}
}

// Every beginning of a good file is a broken image, or the whole one when only
// what follows the pixels is missing. It is never an unknown fault.
func TestTruncatedFiles(t *testing.T) {
	for _, file := range []string{"base.jpg", "prog.jpg", "rst.jpg", "pal_trns.png", "anim.png", "ll.webp", "alpha.webp", "anim.webp", "lzw.tif", "pal.bmp"} {
		t.Run(file, func(t *testing.T) {
			data := read(t, "cases", "images", file)
			for n := 0; n < len(data); n += 1 + len(data)/97 {
				_, err := decodeAll(data[:n], options())
				var panicked *failure.Panic
				if errors.As(err, &panicked) {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if kind := failure.KindOf(err); err != nil && kind != failure.BrokenImage && kind != failure.UnsupportedMedia {
					t.Fatalf("%d bytes: %v, want a broken image", n, err)
				}
			}
		})
	}
}

func TestMissingEndMarkerClassifiesAsTheWhole(t *testing.T) {
	whole, err := decodeAll(read(t, "cases", "images", "base.jpg"), options())
	if err != nil {
		t.Fatal(err)
	}
	cut, err := decodeAll(read(t, "cases", "images", "base_noEOI.jpg"), options())
	if err != nil {
		t.Fatal(err)
	}
	if sum(rgb(cut.Image)) != sum(rgb(whole.Image)) {
		t.Error("pixels differ from those of the whole file")
	}
}

func TestSixteenBitsKeepTheUpperByte(t *testing.T) {
	got, err := decodeAll(read(t, "cases", "images", "g16_8000.png"), options())
	if err != nil {
		t.Fatal(err)
	}
	if c := at(got.Image, 3, 3); c != [3]byte{0x80, 0x80, 0x80} {
		t.Errorf("0x8000 became %v, want 0x80", c)
	}
}

func TestLossyWebPHasTheFullRange(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		want [3]int
	}{
		"black": {"solid_black.webp", [3]int{0, 0, 0}},
		"white": {"solid_white.webp", [3]int{255, 255, 255}},
		"grey":  {"solid_gray.webp", [3]int{128, 128, 128}},
		"red":   {"solid_red.webp", [3]int{255, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeAll(read(t, "cases", "images", tc.file), options())
			if err != nil {
				t.Fatal(err)
			}
			for c, v := range at(got.Image, 16, 16) {
				if d := int(v) - tc.want[c]; d < -2 || d > 2 {
					t.Errorf("color %d is %d, want %d within 2", c, v, tc.want[c])
				}
			}
		})
	}
}
