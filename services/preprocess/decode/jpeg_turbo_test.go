//go:build cgo && !portable

package decode_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"triptych/shared/failure"
)

// A progressive file repeats its scans; each costs as much as the image.
func TestThousandsOfScansAreRefused(t *testing.T) {
	data := read(t, "cases", "images", "prog.jpg")
	first := bytes.Index(data, []byte{0xff, 0xda})
	end := first + 2 + bytes.IndexByte(data[first+2:], 0xff)
	for data[end+1] == 0 {
		end += 2 + bytes.IndexByte(data[end+2:], 0xff)
	}
	many := slices.Concat(data[:first], bytes.Repeat(data[first:end], 2000), data[end:])
	_, err := decodeAll(many, options())
	if failure.KindOf(err) != failure.UnsupportedMedia || !strings.Contains(failure.Message(err), "scans") {
		t.Errorf("got %v, want a refusal that names the scans", err)
	}
}
