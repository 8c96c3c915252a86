package decode_test

import (
	"context"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// tolerated are WebP files that Pillow refuses, and which file has their pixels:
// the bitstream is whole, and chunks that nobody knows are to be ignored.
var tolerated = map[string]string{
	"alpha_without_extension.webp": "extended_alpha_unannounced.webp",
	"extended_unknown_chunks.webp": "lossy_alpha.webp",
	"size_too_large.webp":          "lossy.webp",
	"size_too_small.webp":          "lossy.webp",
	"two_pictures.webp":            "lossy.webp",
}

// DEC-05, DEC-15, PRE-06.
func TestWebPDecodesToPillowsPixels(t *testing.T) {
	rows := map[string]golden{}
	for _, row := range readGolden(t, folder("webp", "golden.json")) {
		rows[row.File] = row
	}
	for file, want := range rows {
		t.Run(file, func(t *testing.T) {
			if like, ok := tolerated[file]; ok {
				want = rows[like]
			}
			checkGolden(t, folder("webp", file), want)
		})
	}
}

func TestWebPRegionsAreThoseOfTheWhole(t *testing.T) {
	for _, row := range readGolden(t, folder("webp", "golden.json")) {
		if row.SHA256 != "" {
			t.Run(row.File, func(t *testing.T) { checkParts(t, folder("webp", row.File)) })
		}
	}
}

// A caller that goes while a large file is decoded is noticed before its end.
func TestWebPEndsSoonAfterItsCaller(t *testing.T) {
	if !exact(decode.WebP) {
		return // Go's decoder can't be stopped
	}
	h, err := decode.Open(read(t, "images", "astronaut.webp"), options())
	if err != nil {
		t.Fatal(err)
	}
	var pool pixels.Pool
	img, err := h.Decode(&leaving{Context: context.Background(), looks: 1}, &pool, decode.View{})
	if failure.KindOf(err) != failure.Cancelled {
		t.Errorf("got %v and %v, want the caller's leave", img, err)
	}
}
