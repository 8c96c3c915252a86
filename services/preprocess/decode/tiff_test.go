package decode_test

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// DEC-16: all that is common in TIFF files, and DEC-12: 16 bits keep the upper
// byte.
func TestTIFFSamples(t *testing.T) { checkCorpus(t, "tiff") }

func TestTIFFRegions(t *testing.T) { checkRegions(t, "tiff") }

func TestTIFFDamage(t *testing.T) { checkDamage(t, "tiff") }

func FuzzTIFF(f *testing.F) { fuzzCorpus(f, "tiff", "*.tif") }

func TestTIFFRefusals(t *testing.T) {
	page := func(changes map[uint16]uint32) []byte {
		return tiffOf(with(greyPage(8, 8), changes), make([]byte, 1024))
	}
	for name, tc := range map[string]struct {
		data []byte
		kind failure.Kind
		want string
	}{
		"mask":                 {page(map[uint16]uint32{262: 4}), failure.UnsupportedMedia, "a transparency mask"},
		"Lab":                  {page(map[uint16]uint32{262: 8}), failure.UnsupportedMedia, "L*a*b* colors"},
		"color filters":        {page(map[uint16]uint32{262: 32803}), failure.UnsupportedMedia, "color model 32803"},
		"raw YCbCr":            {page(map[uint16]uint32{262: 6, 277: 3}), failure.UnsupportedMedia, "YCbCr colors without JPEG compression"},
		"old JPEG":             {page(map[uint16]uint32{259: 6}), failure.UnsupportedMedia, "JPEG compression of the old kind"},
		"JPEG of CMYK":         {page(map[uint16]uint32{259: 7, 262: 5, 277: 4}), failure.UnsupportedMedia, "CMYK colors in JPEG compression"},
		"JPEG with alpha":      {page(map[uint16]uint32{259: 7, 262: 2, 277: 4}), failure.UnsupportedMedia, "4 samples of 8 bits in JPEG compression"},
		"Zstandard":            {page(map[uint16]uint32{259: 50000}), failure.UnsupportedMedia, "Zstandard compression (50000)"},
		"compression 9":        {page(map[uint16]uint32{259: 9}), failure.UnsupportedMedia, "compression 9"},
		"floats":               {page(map[uint16]uint32{339: 3, 258: 32}), failure.UnsupportedMedia, "not unsigned whole numbers"},
		"32 bits":              {page(map[uint16]uint32{258: 32}), failure.UnsupportedMedia, "32 bits per sample"},
		"12 bits":              {page(map[uint16]uint32{258: 12}), failure.UnsupportedMedia, "12 bits per sample"},
		"RGB of 4 bits":        {page(map[uint16]uint32{258: 4, 262: 2, 277: 3}), failure.UnsupportedMedia, "3 samples of 4 bits"},
		"predictor 3":          {page(map[uint16]uint32{259: 5, 317: 3}), failure.UnsupportedMedia, "floating-point"},
		"predictor of 4 bits":  {page(map[uint16]uint32{258: 4, 259: 5, 317: 2}), failure.UnsupportedMedia, "a predictor of 4 bits"},
		"7 samples":            {page(map[uint16]uint32{277: 7}), failure.UnsupportedMedia, "7 samples per pixel"},
		"RGB with one sample":  {page(map[uint16]uint32{262: 2, 277: 1}), failure.UnsupportedMedia, "1 samples per pixel where 3 are needed"},
		"fax of 8 bits":        {page(map[uint16]uint32{259: 4}), failure.UnsupportedMedia, "fax compression of more than one bit"},
		"palette absent":       {page(map[uint16]uint32{262: 3}), failure.BrokenImage, "no palette"},
		"strips missing":       {page(map[uint16]uint32{278: 2}), failure.BrokenImage, "truncated"},
		"tile of one pixel":    {page(map[uint16]uint32{322: 1, 323: 1}), failure.BrokenImage, "tiles of 1x1"},
		"too few bytes":        {tiffOf(greyPage(80, 90), make([]byte, 4)), failure.BrokenImage, "truncated"},
		"no JPEG":              {page(map[uint16]uint32{259: 7}), failure.BrokenImage, "JPEG"},
		"BigTIFF of 4 bytes":   {[]byte("II+\x00\x04\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00"), failure.BrokenImage, "truncated"},
		"BigTIFF without page": {[]byte("II+\x00\x08\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"), failure.BrokenImage, "truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll(tc.data, options())
			if failure.KindOf(err) != tc.kind || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want %s: %q", err, tc.kind, tc.want)
			}
		})
	}
}

// DEC-11: strips that all point to the same bytes, which hold no pixel, are not
// read over and over.
func TestTIFFBlocksThatOverlap(t *testing.T) {
	const strips = 20_000
	nothing := slices.Repeat([]byte{0, 0, 0, 0xff, 0xff}, 1<<20/5) // empty blocks of deflate
	data := le32([]byte("II*\x00"), uint32(8+2+len(nothing)))
	data = append(append(data, 0x78, 0x9c), nothing...)
	page := map[uint16][2]uint32{
		256: {1, 8}, 257: {1, strips}, 258: {1, 8}, 259: {1, 8}, 262: {1, 1}, 278: {1, 1},
		273: {strips, uint32(len(data) + 2 + 8*12 + 4)}, 279: {strips, uint32(len(data) + 2 + 8*12 + 4 + 4*strips)},
	}
	data = binary.LittleEndian.AppendUint16(data, uint16(len(page)))
	for _, tag := range []uint16{256, 257, 258, 259, 262, 273, 278, 279} {
		data = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(data, tag), 4)
		data = le32(data, page[tag][0], page[tag][1])
	}
	data = le32(data, 0)
	for range strips {
		data = le32(data, 8)
	}
	for range strips {
		data = le32(data, uint32(2+len(nothing)))
	}
	h, err := decode.Open(data, options())
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Decode(context.Background(), new(pixels.Pool), decode.View{})
	if failure.KindOf(err) != failure.BrokenImage {
		t.Errorf("got %v, want a broken image", err)
	}
}

func le32(to []byte, values ...uint32) []byte {
	for _, v := range values {
		to = binary.LittleEndian.AppendUint32(to, v)
	}
	return to
}

// PRE-06: the alpha that the file names is what lays it over a background.
func TestTIFFBackground(t *testing.T) {
	white := &decode.Color{255, 255, 255}
	for name, tc := range map[string]struct {
		pixel       []byte
		photometric uint32
		extra       uint32
		background  *decode.Color
		want        [3]byte
	}{
		"straight, none":       {[]byte{200, 100, 50, 0}, 2, 2, nil, [3]byte{200, 100, 50}},
		"straight, white":      {[]byte{200, 100, 50, 0}, 2, 2, white, [3]byte{255, 255, 255}},
		"straight, half":       {[]byte{200, 100, 50, 51}, 2, 2, white, [3]byte{244, 224, 214}},
		"associated, none":     {[]byte{40, 20, 10, 51}, 2, 1, nil, [3]byte{200, 100, 50}},
		"associated, white":    {[]byte{40, 20, 10, 51}, 2, 1, white, [3]byte{244, 224, 214}},
		"unknown, white":       {[]byte{200, 100, 50, 0}, 2, 0, white, [3]byte{200, 100, 50}},
		"grey, white":          {[]byte{100, 0}, 1, 2, white, [3]byte{255, 255, 255}},
		"negative grey, white": {[]byte{100, 255}, 0, 2, white, [3]byte{155, 155, 155}},
	} {
		t.Run(name, func(t *testing.T) {
			tags := with(greyPage(2, 2), map[uint16]uint32{262: tc.photometric, 277: uint32(len(tc.pixel)), 338: tc.extra})
			opts := options()
			opts.Background = tc.background
			got, err := decodeAll(tiffOf(tags, slices.Repeat(tc.pixel, 4)), opts)
			if err != nil {
				t.Fatal(err)
			}
			if c := at(got.Image, 1, 1); c != tc.want {
				t.Errorf("got %v, want %v", c, tc.want)
			}
		})
	}
}

func TestTIFFEndsWithItsContext(t *testing.T) {
	for _, file := range []string{"rgb.tif", "rgb_lzw.tif", "rgb_tiled_deflate.tif", "fax_g4.tif", "jpeg_grey_strips.tif"} {
		t.Run(file, func(t *testing.T) {
			h, err := decode.Open(sample{File: file}.read(t, "tiff"), options())
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Decode(&whenDone{context.Background(), 3}, new(pixels.Pool), decode.View{})
			if failure.KindOf(err) != failure.Cancelled {
				t.Errorf("got %v, want it cancelled", err)
			}
		})
	}
}
