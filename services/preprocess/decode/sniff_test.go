package decode_test

import (
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

func TestWhatIsNotAnImageIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		data string
		kind failure.Kind
		want string
	}{
		"nothing":         {"", failure.BrokenImage, "the image is empty: it has 0 bytes"},
		"HEIC":            {"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", failure.UnsupportedMedia, "this is a HEIC image, which is not read: send JPEG, PNG, GIF, BMP, TIFF or WebP"},
		"HEIF":            {"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00", failure.UnsupportedMedia, "this is a HEIC image"},
		"AVIF":            {"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00", failure.UnsupportedMedia, "this is an AVIF image"},
		"MP4":             {"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00", failure.UnsupportedMedia, "this is a video"},
		"JPEG XL":         {"\xff\x0a\x00\x00", failure.UnsupportedMedia, "this is a JPEG XL image"},
		"JPEG 2000":       {"\x00\x00\x00\x0cjP  \r\n\x87\n", failure.UnsupportedMedia, "this is a JPEG 2000 image"},
		"gzip":            {"\x1f\x8b\x08\x00", failure.UnsupportedMedia, "this is gzip data"},
		"PDF":             {"%PDF-1.7", failure.UnsupportedMedia, "this is a PDF document"},
		"SVG":             {"\ufeff <?xml version='1.0'?>\n<svg xmlns=''/>", failure.UnsupportedMedia, "this is an SVG drawing"},
		"SVG alone":       {"<svg/>", failure.UnsupportedMedia, "this is an SVG drawing"},
		"HTML":            {" \n<!DOCTYPE HTML><html>", failure.UnsupportedMedia, "this is an HTML page"},
		"XML":             {"<?xml version='1.0'?><a/>", failure.UnsupportedMedia, "this is an XML document"},
		"text like BMP":   {"BMW cars are nice, they really are", failure.UnsupportedMedia, "this is not an image of a known format"},
		"short BM":        {"BM", failure.UnsupportedMedia, "this is not an image of a known format"},
		"newline in JPEG": {"\r\n\xff\xd8\xff\xe0", failure.UnsupportedMedia, "this is not an image of a known format"},
		"two bytes JPEG":  {"\xff\xd8", failure.BrokenImage, "the JPEG image is truncated"},
		"PNG beginning":   {"\x89PNG\r\n", failure.BrokenImage, "the PNG image is truncated"},
		"PNG by FTP":      {"\x89PNG\n\x1a\n" + strings.Repeat("\x00", 40), failure.BrokenImage, "the PNG image is corrupt"},
		"GIF beginning":   {"GIF89a", failure.BrokenImage, "the GIF image is truncated"},
		"TIFF beginning":  {"MM\x00*", failure.BrokenImage, "the TIFF image is truncated"},
		"WebP beginning":  {"RIFF\x00\x00\x00\x00WEBP", failure.BrokenImage, "the WebP image is truncated or corrupt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll([]byte(tc.data), options())
			if failure.KindOf(err) != tc.kind || !strings.HasPrefix(failure.Message(err), tc.want) {
				t.Errorf("got %s %q, want %s %q", failure.KindOf(err), failure.Message(err), tc.kind, tc.want)
			}
		})
	}
}

func TestFormatIsKnownWhenDecodingFails(t *testing.T) {
	got, err := decodeAll([]byte("GIF89a"), options())
	if err == nil || got.Format != decode.GIF {
		t.Errorf("got %q and %v, want GIF and a failure", got.Format, err)
	}
}

func TestEveryFormatHasADecoder(t *testing.T) {
	decoders := decode.Decoders()
	for _, format := range decode.Formats() {
		if decoders[format] == "" {
			t.Errorf("%s has none", format)
		}
	}
	if len(decoders) != len(decode.Formats()) {
		t.Errorf("%d decoders for %d formats", len(decoders), len(decode.Formats()))
	}
}
