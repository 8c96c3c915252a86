//go:build cgo && !portable

package decode_test

import (
	"image"
	"testing"

	"triptych/services/preprocess/decode"
)

// DEC-01: prefix codes take no more memory than was admitted for them.
func TestPrefixCodesTakeTheMemoryThatTheHeaderSays(t *testing.T) {
	const slack, least = 16 << 20, 35 // the least in percent: codes are short here
	size := image.Pt(1024, 1024)
	data := webpOf(vp8lOf(size, manyGroups(size, 2, 2600, 1, 0)))
	h, err := decode.Open(data, options())
	if err != nil {
		t.Fatal(err)
	}
	var got int64
	for tries := 0; tries == 0 || tries < 50 && got < h.Memory*least/100; tries++ {
		got = max(got, peak(t, data, decode.View{}))
	}
	if got > h.Memory+slack || got < h.Memory*least/100 {
		t.Errorf("took %d MiB, the header says %d", got>>20, h.Memory>>20)
	}
}
