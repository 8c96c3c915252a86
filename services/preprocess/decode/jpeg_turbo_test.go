//go:build cgo && !portable

package decode_test

import (
	"bytes"
	"context"
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
	large := photo(t, 4000, 6000)
	for name, tc := range map[string]struct {
		data []byte
		view decode.View
	}{
		"scans":       {blank(7000, 7000, 24), decode.View{}},
		"rows":        {large, decode.View{}},
		"passed over": {large, decode.View{Region: image.Rect(0, 5990, 8, 5992)}},
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
			var pool pixels.Pool
			ctx, cancel := context.WithTimeout(t.Context(), whole/20)
			defer cancel()
			begin = time.Now()
			_, err = header.Decode(ctx, &pool, tc.view)
			if failure.KindOf(err) != failure.Deadline || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the context's end", err)
			}
			if took := time.Since(begin); took > whole/2 {
				t.Errorf("took %v of %v, and should have ended after %v", took, whole, whole/20)
			}
		})
	}
}
