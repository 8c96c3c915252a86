package decode_test

import (
	"encoding/json"
	"errors"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// refused lists the case images that get no pixels, by kind. All others do.
var refused = map[failure.Kind][]string{
	failure.UnsupportedMedia: {
		"base_junk_before.jpg", "gz.jpg", "html.jpg", "float32.tif",
	},
	failure.BrokenImage: {
		"base_trunc50.jpg", "prog_trunc50.jpg", "prog_trunc80.jpg", "empty.jpg", "bmp_oob.bmp", "tiff_pal_short.tif",
		"tiff_tile_deflate_bomb.tif",
	},
	failure.TooLarge: {"bomb_1bit_20000.png"},
}

// refusedByGo are refused besides in builds without libjpeg-turbo.
var refusedByGo = map[failure.Kind][]string{
	failure.UnsupportedMedia: {
		"asym_2x2_1x1_1x2.jpg", "asym_2x2_1x1_2x2.jpg", "asym_2x2_2x1_1x2.jpg", "chroma_bigger.jpg", "s3x1.jpg",
	},
	failure.BrokenImage: {"base_noDHT.jpg"},
}

func wantKind(file string) (failure.Kind, bool) {
	tables := []map[failure.Kind][]string{refused}
	if !exact(decode.JPEG) {
		tables = append(tables, refusedByGo)
	}
	for _, table := range tables {
		for kind, files := range table {
			if slices.Contains(files, file) {
				return kind, true
			}
		}
	}
	return 0, false
}

func TestCaseImages(t *testing.T) {
	for _, path := range cases(t) {
		file := filepath.Base(path)
		t.Run(file, func(t *testing.T) {
			got, err := decodeAll(read(t, "cases", "images", file), options())
			want, bad := wantKind(file)
			switch {
			case !bad && err != nil:
				t.Errorf("refused: %v", err)
			case bad && (err == nil || failure.KindOf(err) != want):
				t.Errorf("got %v, want %s", err, want)
			case bad && strings.ContainsAny(failure.Message(err), "\n\x00"):
				t.Errorf("message is not one line: %q", failure.Message(err))
			case !bad && got.Image.Rect.Min != image.Point{}:
				t.Errorf("bounds are %v", got.Image.Rect)
			}
		})
	}
}

func TestCaseImagesDecodeToPillowsPixels(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "decoded.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		File          string
		Width, Height int
		SHA256        string
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, want := range golden {
		if _, bad := wantKind(want.File); bad {
			continue
		}
		t.Run(want.File, func(t *testing.T) {
			got, err := decodeAll(read(t, "cases", "images", want.File), options())
			if err != nil {
				t.Fatal(err)
			}
			if size := got.Image.Rect.Size(); size != image.Pt(want.Width, want.Height) {
				t.Errorf("size is %v, want %dx%d", size, want.Width, want.Height)
			}
			jpegInside := want.File == "jpegcomp.tif"
			if exact(got.Format) && (!jpegInside || exact(decode.JPEG)) && sum(rgb(got.Image)) != want.SHA256 {
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
