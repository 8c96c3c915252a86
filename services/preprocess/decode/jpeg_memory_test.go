//go:build cgo && !portable

package decode_test

import (
	"image"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/testkit"
)

// peak is by how much the process grows at most while a view is decoded.
func peak(t *testing.T, data []byte, v decode.View) int64 {
	t.Helper()
	var base int64
	for range 3 { // pools let go of what they have when they have not been used for two cycles
		base = testkit.Resident(t)
	}
	testkit.ResetPeak(t)
	var pool pixels.Pool
	img, err := viewFrom(&pool, data, options(), v)
	if err != nil {
		t.Fatal(err)
	}
	img.Release()
	return testkit.Peak(t) - base
}

// The service admits images by what their headers say they take.
func TestJPEGTakesTheMemoryThatItsHeaderSays(t *testing.T) {
	const slack = 12 << 20 // of Go's own and of malloc
	const shadow = 8       // AddressSanitizer takes an eighth besides
	for name, tc := range map[string]struct {
		data  []byte
		view  decode.View
		least int64 // in percent of what the header says
	}{
		"progressive":           {blank(5000, 5000, 3), decode.View{}, 70},
		"progressive, a region": {blank(5000, 5000, 3), decode.View{Region: image.Rect(3000, 3000, 3300, 3300)}, 30},
		"progressive, reduced":  {blank(5000, 5000, 3), decode.View{Reduce: 8}, 30},
		"a scan per component":  {sequential(4000, 3000), decode.View{}, 70},
		"baseline":              {flat(5000, 4000), decode.View{}, 70},
		"baseline, a region":    {flat(5000, 4000), decode.View{Region: image.Rect(0, 3000, 5000, 3100)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := decode.Open(tc.data, options())
			if err != nil {
				t.Fatal(err)
			}
			// What Go has kept of something else, and now uses again, is not seen: then it
			// is done again.
			var got int64
			for tries := 0; tries == 0 || tries < 10 && got < h.Memory*tc.least/100; tries++ {
				got = max(got, peak(t, tc.data, tc.view))
			}
			if got > h.Memory+h.Memory/shadow+slack || got < h.Memory*tc.least/100 {
				t.Errorf("took %d MiB, the header says %d", got>>20, h.Memory>>20)
			}
		})
	}
}

// A file that lies about its scans gets no more memory than it was admitted with.
func TestJPEGThatHidesItsScans(t *testing.T) {
	data := sequential(64, 64)
	h, err := decode.Open(data, options())
	if err != nil {
		t.Fatal(err)
	}
	at := len(data) - 2 - 3*(16+10) + 4 // how many components the first scan has
	if data[at] != 1 {
		t.Fatalf("the byte is %d", data[at])
	}
	data[at] = 3
	lie, err := decode.Open(data, options())
	if err != nil || lie.Memory >= h.Memory {
		t.Fatalf("%d bytes instead of %d: %v", lie.Memory, h.Memory, err)
	}
	data[at] = 1 // libjpeg sees the truth, which the header was made without
	var pool pixels.Pool
	if _, err := lie.Decode(t.Context(), &pool, decode.View{}); err == nil {
		t.Error("it decodes")
	} else {
		blamed(t, err)
	}
}
