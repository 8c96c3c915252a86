//go:build cgo && !portable

package decode_test

import (
	"strings"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
)

// The blocks of all strips count together. Builds without C libraries count bytes.
func TestEmptyBlocksOfManyStrips(t *testing.T) {
	const width, rows = 6000, 1000
	tags := with(greyPage(width, rows), map[uint16]uint32{259: 8, 278: 1})
	data := sharing(tags, rows, 0, emptyBlocks(t, 1, make([]byte, width)))
	if _, err := decodeAll(data, options()); failure.KindOf(err) != failure.BrokenImage {
		t.Errorf("got %v, want a broken image", err)
	}
}

// Arithmetic coding takes many times as long for a scan, and next to no bytes.
func TestWorkOfArithmeticScansIsBounded(t *testing.T) {
	for scans, refused := range map[int]bool{7: false, 20: true} {
		data := blank(4000, 4000, scans)
		for i := range data[:200] {
			if data[i] == 0xff && data[i+1] == 0xc2 {
				data[i+1] = 0xca
			}
		}
		_, err := view(data, decode.View{})
		if refused != refusedForScans(err) || !refused && err != nil {
			t.Errorf("%d scans: %v", scans, err)
		}
	}
}

// Scans of each block would count from the start, in work and in memory.
func TestTIFFOfProgressiveJPEG(t *testing.T) {
	data := blank(64, 64, 10)
	_, err := decodeAll(tiffOf(with(greyPage(64, 64), map[uint16]uint32{259: 7}), data), options())
	if failure.KindOf(err) != failure.UnsupportedMedia || !strings.Contains(failure.Message(err), "several scans") {
		t.Errorf("got %v, want a refusal that names the scans", err)
	}
}
