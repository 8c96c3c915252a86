//go:build cgo && !portable

package decode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"slices"
	"strings"
	"testing"
	"time"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

func refusedForScans(err error) bool {
	return failure.KindOf(err) == failure.UnsupportedMedia && strings.Contains(failure.Message(err), "too many scans for its size")
}

// A progressive file repeats its scans; each costs as much as the image.
func TestThousandsOfScansAreRefused(t *testing.T) {
	data := read(t, "cases", "images", "prog.jpg")
	first := bytes.Index(data, []byte{0xff, 0xda})
	end := first + 2 + bytes.IndexByte(data[first+2:], 0xff)
	for data[end+1] == 0 {
		end += 2 + bytes.IndexByte(data[end+2:], 0xff)
	}
	many := slices.Concat(data[:first], bytes.Repeat(data[first:end], 2000), data[end:])
	if _, err := decodeAll(many, options()); !refusedForScans(err) {
		t.Errorf("got %v, want a refusal that names the scans", err)
	}
}

// Small pictures may have many scans, large ones as many as are of use.
func TestWorkOfScansIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		width, height, scans int
		refused              bool
	}{
		"small, a hundred":    {600, 600, 100, false},
		"small, thousands":    {600, 600, 2000, true},
		"one block, hundreds": {8, 8, 900, false},
		"one block, more":     {8, 8, 1100, true},
		"large, twenty":       {7000, 7000, 20, false},
		"large, a hundred":    {7000, 7000, 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := view(blank(tc.width, tc.height, tc.scans), decode.View{})
			if tc.refused != refusedForScans(err) || !tc.refused && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// When nobody waits any longer, the CPU is free: in every phase of a decode.
func TestJPEGDecodeEndsWithItsContext(t *testing.T) {
	large := photo(t, 3000, 4000)
	for name, tc := range map[string]struct {
		data []byte
		view decode.View
	}{
		"scans":       {blank(4000, 4000, 24), decode.View{}},
		"rows":        {large, decode.View{}},
		"passed over": {large, decode.View{Region: image.Rect(0, 3990, 8, 3992)}},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			if _, err := view(tc.data, tc.view); err != nil {
				t.Fatal(err)
			}
			whole := time.Since(begin)
			header, err := decode.Open(tc.data, options())
			if err != nil {
				t.Fatal(err)
			}
			best := time.Hour // of some, for others may need the CPU as well
			for tries := 0; tries < 10 && best > whole/2; tries++ {
				ctx, cancel := context.WithTimeout(t.Context(), whole/20)
				begin = time.Now()
				_, err = header.Decode(ctx, &pixels.Pool{}, tc.view)
				best = min(best, time.Since(begin))
				cancel()
				if failure.KindOf(err) != failure.Deadline || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v, want the context's end", err)
				}
			}
			if best > whole/2 {
				t.Errorf("took %v of %v, and should have ended after %v", best, whole, whole/20)
			}
		})
	}
}

// DEC-07: what is missing at the end is noticed whatever the coding, and whatever
// part of the picture is wanted. The last marker may be missing. As arithmetic
// coding may leave out zeros at the end, nothing is told of its last row of units.
func TestTruncatedJPEGs(t *testing.T) {
	samples := jpegSamples(t)
	for _, file := range []string{"s_444.jpg", "s_420.jpg", "p_420.jpg", "a_444.jpg", "a_420.jpg", "ap_420.jpg", "scans_sequential.jpg", "restarts.jpg"} {
		t.Run(file, func(t *testing.T) {
			data := samples[file]
			top := decode.View{Region: image.Rect(0, 0, 97, 2)}
			percents := []int{30, 60, 80, 90}
			if strings.HasPrefix(file, "a_") {
				percents = percents[:2]
			}
			for _, percent := range percents {
				cut := data[:len(data)*percent/100]
				for _, v := range []decode.View{{}, top} {
					_, err := view(cut, v)
					if failure.KindOf(err) != failure.BrokenImage || failure.Message(err) != "the JPEG image is truncated" {
						t.Errorf("%d%%, %v: got %v, want a truncated image", percent, v.Region, err)
					}
				}
			}
			whole, err := view(data, decode.View{})
			if err != nil {
				t.Fatal(err)
			}
			marked, err := view(data[:len(data)-2], decode.View{})
			if err != nil || sum(marked.Pix) != sum(whole.Pix) {
				t.Errorf("without the last marker: %v, or other pixels", err)
			}
		})
	}
}

// 12 bits and other features are named from the header.
func TestTwelveBitsAreNamed(t *testing.T) {
	_, err := decode.Open(jpegSamples(t)["bits_12.jpg"], options())
	if failure.KindOf(err) != failure.UnsupportedMedia || !strings.Contains(failure.Message(err), "12 bits per sample") {
		t.Errorf("got %v", err)
	}
}

// EXIF data may stand behind the frame header, too.
func TestEXIFBehindTheFrameHeader(t *testing.T) {
	data := jpegSamples(t)["s_420.jpg"]
	exif := append([]byte("Exif\x00\x00"), exifOf(binary.BigEndian, 0x0112, 3, 1, 6)...)
	at := bytes.Index(data, []byte{0xff, 0xda})
	h, err := decode.Open(slices.Concat(data[:at], jpegSegment(0xe1, exif...), data[at:]), options())
	if err != nil || h.Orientation != 6 {
		t.Errorf("got orientation %d, %v, want 6", h.Orientation, err)
	}
}

func TestDivisionsOfAJPEG(t *testing.T) {
	h, err := decode.Open(jpegSamples(t)["s_420.jpg"], options())
	if err != nil || !slices.Equal(h.Reductions(), []int{2, 4, 8}) {
		t.Errorf("got %v, %v", h.Reductions(), err)
	}
	for _, v := range []decode.View{{Reduce: 3}, {Region: image.Rect(97, 0, 100, 61)}} {
		if _, err := h.Decode(t.Context(), &pixels.Pool{}, v); failure.KindOf(err) != failure.Internal {
			t.Errorf("%v: got %v, want Internal", v, err)
		}
	}
}
