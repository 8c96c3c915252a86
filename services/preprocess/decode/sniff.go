package decode

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"triptych/shared/failure"
)

// Format is the name of an image format as messages and metrics show it.
type Format string

// The formats that are read.
const (
	JPEG Format = "JPEG"
	PNG  Format = "PNG"
	GIF  Format = "GIF"
	BMP  Format = "BMP"
	TIFF Format = "TIFF"
	WebP Format = "WebP"
)

// Formats lists the formats that are read.
func Formats() []Format { return []Format{JPEG, PNG, GIF, BMP, TIFF, WebP} }

const advice = "send JPEG, PNG, GIF, BMP, TIFF or WebP"

// sniff finds the codec by the first bytes. What the caller or the file's name
// says is never looked at.
func sniff(data []byte) (codec, error) {
	switch {
	case len(data) == 0:
		return codec{}, failure.New(failure.BrokenImage, "the image is empty: it has 0 bytes")
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		return codec{JPEG, jpegHeader}, nil
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		return codec{PNG, pngHeader}, nil
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return codec{GIF, gifHeader}, nil
	case isBMP(data):
		return codec{BMP, bmpHeader}, nil
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")),
		bytes.HasPrefix(data, []byte("II+\x00")), bytes.HasPrefix(data, []byte("MM\x00+")):
		return codec{TIFF, tiffHeader}, nil
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return codec{WebP, webpHeader}, nil
	}
	if name := otherFormat(data); name != "" {
		return codec{}, failure.New(failure.UnsupportedMedia, "this is %s, which is not read: %s", name, advice)
	}
	return codec{}, failure.New(failure.UnsupportedMedia, "this is not an image of a known format: %s", advice)
}

// isBMP wants a known header size as well, for any text may begin with "BM".
func isBMP(data []byte) bool {
	if len(data) < 18 || data[0] != 'B' || data[1] != 'M' {
		return false
	}
	return slices.Contains([]uint32{12, 16, 40, 52, 56, 64, 108, 124}, binary.LittleEndian.Uint32(data[14:]))
}

// others are formats that are told by name only, so that the caller knows what
// was sent.
var others = []struct{ magic, name string }{
	{"\xff\x0a", "a JPEG XL image"},
	{"\x00\x00\x00\x0cJXL ", "a JPEG XL image"},
	{"\x00\x00\x00\x0cjP  ", "a JPEG 2000 image"},
	{"\xff\x4f\xff\x51", "a JPEG 2000 image"},
	{"8BPS", "a Photoshop file"},
	{"\x00\x00\x01\x00", "an icon file"},
	{"qoif", "a QOI image"},
	{"\x1f\x8b", "gzip data"},
	{"PK\x03\x04", "a ZIP archive"},
	{"%PDF", "a PDF document"},
	{"%!PS", "a PostScript document"},
}

func otherFormat(data []byte) string {
	for _, o := range others {
		if bytes.HasPrefix(data, []byte(o.magic)) {
			return o.name
		}
	}
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		return mediaName(string(data[8:12]))
	}
	return textName(data)
}

// mediaName names an ISO media file by its major brand.
func mediaName(brand string) string {
	switch {
	case brand == "avif" || brand == "avis":
		return "an AVIF image"
	case strings.HasPrefix(brand, "he") || brand == "mif1" || brand == "msf1":
		return "a HEIC image"
	default:
		return "a video or another ISO media file"
	}
}

// textName names documents that arrive in place of images: a drawing, or the
// error page of the server that should have sent the image.
func textName(data []byte) string {
	head := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(data[:min(len(data), 512)], []byte("\ufeff")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(head, []byte("<!doctype html")), bytes.HasPrefix(head, []byte("<html")):
		return "an HTML page"
	case bytes.HasPrefix(head, []byte("<")) && bytes.Contains(head, []byte("<svg")):
		return "an SVG drawing"
	case bytes.HasPrefix(head, []byte("<?xml")):
		return "an XML document"
	}
	return ""
}
