package decode_test

import (
	"encoding/binary"
	"fmt"
	"image"
	"slices"
	"testing"
	"time"

	"triptych/services/preprocess/pixels/pixelstest"
)

func checkOrientation(t *testing.T, data []byte, orientation int, stored *image.NRGBA) {
	t.Helper()
	got, err := decodeAll(data, options())
	if err != nil {
		t.Fatal(err)
	}
	if got.Orientation != orientation || got.BrokenEXIF {
		t.Errorf("orientation is %d (broken: %v), want %d", got.Orientation, got.BrokenEXIF, orientation)
	}
	w, h := stored.Rect.Dx(), stored.Rect.Dy()
	if orientation >= 5 {
		w, h = h, w
	}
	if size := got.Image.Rect.Size(); size != image.Pt(w, h) {
		t.Fatalf("size is %v, want %dx%d", size, w, h)
	}
	for y := range h {
		for x := range w {
			sx, sy := pixelstest.Source(orientation, x, y, w, h)
			if at(got.Image, x, y) != at(stored, sx, sy) {
				t.Fatalf("(%d,%d) is %v, want %v", x, y, at(got.Image, x, y), at(stored, sx, sy))
			}
		}
	}
}

func TestOrientations(t *testing.T) {
	jpeg, webp := read(t, "cases", "images", "base.jpg"), read(t, "cases", "images", "ll.webp")
	png := read(t, "cases", "images", "pal_trns.png")
	pixels := []byte{10, 20, 30, 40, 50, 60}
	stored := func(data []byte) *image.NRGBA {
		got, err := decodeAll(data, options())
		if err != nil {
			t.Fatal(err)
		}
		return got.Image
	}
	for orientation := 1; orientation <= 8; orientation++ {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			exif := exifOf(order, 0x0112, 3, 1, uint32(orientation))
			files := map[string]struct{ data, plain []byte }{
				"JPEG":               {jpegWith(jpeg, exif), jpeg},
				"PNG":                {slices.Concat(png[:33], chunk("eXIf", exif), png[33:]), png},
				"PNG, EXIF behind":   {slices.Concat(png[:len(png)-12], chunk("eXIf", exif), png[len(png)-12:]), png},
				"WebP":               {webpOf(vp8x(8, 96, 64), bitstream(webp), riffChunk("EXIF", exif)), webp},
				"WebP, EXIF as JPEG": {webpOf(vp8x(8, 96, 64), bitstream(webp), riffChunk("EXIF", append([]byte("Exif\x00\x00"), exif...))), webp},
				"TIFF":               {tiffOf(with(greyPage(3, 2), map[uint16]uint32{274: uint32(orientation)}), pixels), tiffOf(greyPage(3, 2), pixels)},
			}
			for name, f := range files {
				t.Run(fmt.Sprintf("%s %d %s", name, orientation, order), func(t *testing.T) {
					checkOrientation(t, f.data, orientation, stored(f.plain))
				})
			}
		}
	}
}

// Broken EXIF data never fail an image: it counts as upright.
func TestBrokenEXIFCountsAsUpright(t *testing.T) {
	le := binary.LittleEndian
	good := exifOf(le, 0x0112, 3, 1, 6)
	pastEnd := slices.Clone(good)
	le.PutUint32(pastEnd[4:], 1<<31)
	many := slices.Clone(good)
	le.PutUint16(many[8:], 65535)
	for name, tc := range map[string]struct {
		exif        []byte
		orientation int
		broken      bool
	}{
		"orientation 0":         {exifOf(le, 0x0112, 3, 1, 0), 1, true},
		"orientation 9":         {exifOf(le, 0x0112, 3, 1, 9), 1, true},
		"unknown type":          {exifOf(le, 0x0112, 20, 1, 6), 1, true},
		"count 65535":           {exifOf(le, 0x0112, 3, 65535, 6), 1, true},
		"count 2^32-1":          {exifOf(le, 0x0112, 4, 1<<32-1, 6), 1, true},
		"count 0":               {exifOf(le, 0x0112, 3, 0, 6), 1, true},
		"directory past end":    {pastEnd, 1, true},
		"65535 entries":         {many, 6, false},
		"cut in the entry":      {good[:15], 1, false},
		"cut in the header":     {good[:6], 1, true},
		"no byte order":         {[]byte("XX*\x00\x08\x00\x00\x00"), 1, true},
		"another tag":           {exifOf(le, 0x010f, 3, 1, 6), 1, false},
		"links to itself":       {good, 6, false},
		"nothing behind prefix": {nil, 1, false},
		"as LONG":               {exifOf(le, 0x0112, 4, 1, 3), 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			got, err := decodeAll(jpegWith(read(t, "cases", "images", "base.jpg"), tc.exif), options())
			if err != nil {
				t.Fatal(err)
			}
			if got.Orientation != tc.orientation || got.BrokenEXIF != tc.broken {
				t.Errorf("orientation is %d (broken: %v), want %d (%v)", got.Orientation, got.BrokenEXIF, tc.orientation, tc.broken)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
