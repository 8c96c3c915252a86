package decode_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// DEC-12, PRE-06, PRE-07.
func TestPNGDecodesToPillowsPixels(t *testing.T) {
	for _, want := range readGolden(t, folder("png", "golden.json")) {
		t.Run(want.File, func(t *testing.T) {
			checkGolden(t, folder("png", want.File), want)
			if want.SHA256 != "" {
				checkParts(t, folder("png", want.File))
			}
		})
	}
}

func TestPNGSuiteDecodesToPillowsPixels(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(strings.TrimSpace(string(root)), "src", "image", "png", "testdata", "pngsuite")
	for _, want := range readGolden(t, folder("png", "pngsuite.json")) {
		t.Run(want.File, func(t *testing.T) { checkGolden(t, filepath.Join(suite, want.File), want) })
	}
}

// brokenPNG is an 8x8 picture of RGB, changed.
func brokenPNG(tb testing.TB, rows int, change func(file []byte) []byte) []byte {
	tb.Helper()
	return change(pngOf(8, 8, 8, 2, 0, deflated(tb, rows*(1+8*3))))
}

// DEC-07 and the like: a picture of made-up pixels is none.
func TestBrokenPNG(t *testing.T) {
	same := func(file []byte) []byte { return file }
	const idat = 8 + 25 // where the chunk begins
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"rows missing":         {brokenPNG(t, 7, same), "truncated"},
		"cut in its pixels":    {brokenPNG(t, 8, func(f []byte) []byte { return f[:idat+8+4] }), "truncated"},
		"without pixels":       {brokenPNG(t, 8, func(f []byte) []byte { return f[:idat] }), "truncated"},
		"checksum of pixels":   {brokenPNG(t, 8, func(f []byte) []byte { f[len(f)-1]++; return f }), "corrupt"},
		"checksum of header":   {brokenPNG(t, 8, func(f []byte) []byte { f[idat-1]++; return f }), "corrupt"},
		"not deflate":          {pngOf(8, 8, 8, 2, 0, []byte("abcdefghijk")), "corrupt"},
		"unknown filter":       {pngOf(1, 1, 8, 0, 0, zlibOf(t, []byte{5, 0})), "corrupt"},
		"7 bits":               {pngOf(8, 8, 7, 2, 0, zlibOf(t, make([]byte, 200))), "corrupt"},
		"color type 5":         {pngOf(8, 8, 8, 5, 0, zlibOf(t, make([]byte, 200))), "corrupt"},
		"4 bits of RGB":        {pngOf(8, 8, 4, 2, 0, zlibOf(t, make([]byte, 200))), "corrupt"},
		"interlaced otherwise": {pngOf(8, 8, 8, 2, 2, zlibOf(t, make([]byte, 200))), "corrupt"},
		"no palette":           {pngOf(8, 8, 8, 3, 0, zlibOf(t, make([]byte, 200))), "no palette"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll(tc.data, options())
			if failure.KindOf(err) != failure.BrokenImage || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want a broken image that is %s", err, tc.want)
			}
		})
	}
}

// A color of 16 bits is transparent only if all of its bits are as tRNS says.
func TestTransparentColorOfSixteenBits(t *testing.T) {
	row := []byte{0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbd}
	plain := pngOf(2, 1, 16, 2, 0, zlibOf(t, row))
	key := chunk("tRNS", row[1:7])
	const ihdrEnd = 8 + 25
	opts := options()
	opts.Background = &decode.Color{1, 2, 3}
	got, err := decodeAll(slices.Concat(plain[:ihdrEnd], key, plain[ihdrEnd:]), opts)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := at(got.Image, 0, 0), at(got.Image, 1, 0); a != [3]byte{1, 2, 3} || b != [3]byte{0x12, 0x56, 0x9a} {
		t.Errorf("got %v and %v, want the background and the color's upper bytes", a, b)
	}
}

func TestPNGEndsSoonAfterItsCaller(t *testing.T) {
	h, err := decode.Open(readFile(t, folder("png", "c2_d8_i.png")), options())
	if err != nil {
		t.Fatal(err)
	}
	var pool pixels.Pool
	img, err := h.Decode(&leaving{Context: context.Background(), looks: 5}, &pool, decode.View{})
	if failure.KindOf(err) != failure.Cancelled {
		t.Errorf("got %v and %v, want the caller's leave", img, err)
	}
}
