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

// DEC-16: all common variants, and many uncommon ones.
func TestBMPSamples(t *testing.T) { checkCorpus(t, "bmp") }

func TestBMPRegions(t *testing.T) { checkRegions(t, "bmp") }

func TestBMPDamage(t *testing.T) { checkDamage(t, "bmp") }

func FuzzBMP(f *testing.F) { fuzzCorpus(f, "bmp", "*.bmp") }

// bmpWith is a BMP file of 4x2 pixels with a header of 40 bytes.
func bmpWith(bits uint16, compression uint32, behind ...byte) []byte {
	data := bmpOf(4, 2, bits)
	binary.LittleEndian.PutUint32(data[30:], compression)
	return append(data, behind...)
}

func TestBMPRefusals(t *testing.T) {
	palette := make([]byte, 2*4)
	twoColors := func(data []byte) []byte {
		binary.LittleEndian.PutUint32(data[46:], 2)
		binary.LittleEndian.PutUint32(data[10:], 54+8)
		return data
	}
	os2 := bmpWith(1, 3, make([]byte, 64)...)
	os2[14] = 64
	for name, tc := range map[string]struct {
		data []byte
		kind failure.Kind
		want string
	}{
		"JPEG inside":        {bmpWith(0, 4), failure.UnsupportedMedia, "a JPEG inside"},
		"PNG inside":         {bmpWith(0, 5), failure.UnsupportedMedia, "a PNG inside"},
		"compression 11":     {bmpWith(24, 11), failure.UnsupportedMedia, "compression 11"},
		"64 bits":            {bmpWith(64, 0), failure.UnsupportedMedia, "64 bits per pixel"},
		"RLE8 of 4 bits":     {bmpWith(4, 1), failure.UnsupportedMedia, "compression 1 of 4 bits"},
		"masks of 8 bits":    {bmpWith(8, 3), failure.UnsupportedMedia, "compression 3 of 8 bits"},
		"Huffman of OS/2":    {os2, failure.UnsupportedMedia, "Huffman"},
		"masks with gaps":    {bmpWith(16, 3, 0, 0xa5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0), failure.UnsupportedMedia, "bit masks"},
		"no masks":           {bmpWith(16, 3, 0, 0), failure.BrokenImage, "truncated"},
		"index out of range": {twoColors(bmpWith(8, 0, append(palette, 0, 1, 2, 0, 0, 0, 0, 0)...)), failure.BrokenImage, "not in the palette"},
		"RLE out of range":   {twoColors(bmpWith(8, 1, append(palette, 4, 9)...)), failure.BrokenImage, "not in the palette"},
		"RLE without end":    {twoColors(bmpWith(8, 1, append(palette, 4, 1)...)), failure.BrokenImage, "truncated"},
		"rows missing":       {bmpWith(24, 0, make([]byte, 23)...), failure.BrokenImage, "truncated"},
		"offset beyond":      {slices.Replace(bmpWith(24, 0, make([]byte, 24)...), 10, 14, 0xff, 0xff, 0xff, 0xff), failure.BrokenImage, "truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeAll(tc.data, options())
			if failure.KindOf(err) != tc.kind || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want %s: %q", err, tc.kind, tc.want)
			}
		})
	}
}

// PRE-06: alpha counts only where the masks name it, and there is a background.
func TestBMPBackground(t *testing.T) {
	masks := []byte{0, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0xff}
	withAlpha := slices.Concat(bmpWith(32, 3, masks...), make([]byte, 108-56), slices.Repeat([]byte{30, 20, 10, 0}, 8))
	withAlpha[14], withAlpha[10] = 108, 14+108
	for name, tc := range map[string]struct {
		data       []byte
		background *decode.Color
		want       [3]byte
	}{
		"none":     {withAlpha, nil, [3]byte{10, 20, 30}},
		"white":    {withAlpha, &decode.Color{255, 255, 255}, [3]byte{255, 255, 255}},
		"no masks": {bmpWith(32, 0, slices.Repeat([]byte{30, 20, 10, 0}, 8)...), &decode.Color{255, 255, 255}, [3]byte{10, 20, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Background = tc.background
			got, err := decodeAll(tc.data, opts)
			if err != nil {
				t.Fatal(err)
			}
			if c := at(got.Image, 3, 1); c != tc.want {
				t.Errorf("got %v, want %v", c, tc.want)
			}
		})
	}
}

// whenDone is a context that ends after it has been asked some times.
type whenDone struct {
	context.Context
	left int
}

func (c *whenDone) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestBMPEndsWithItsContext(t *testing.T) {
	for _, file := range []string{"rgb24.bmp", "pal8.bmp", "rle8.bmp", "rle8_end_early.bmp"} {
		t.Run(file, func(t *testing.T) {
			h, err := decode.Open(sample{File: file}.read(t, "bmp"), options())
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Decode(&whenDone{context.Background(), 10}, new(pixels.Pool), decode.View{})
			if failure.KindOf(err) != failure.Cancelled {
				t.Errorf("got %v, want it cancelled", err)
			}
		})
	}
}
