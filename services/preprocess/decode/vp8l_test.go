package decode_test

import (
	"image"
	"slices"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// alphaWith is a lossy file of 75x53 pixels with this packed alpha.
func alphaWith(tb testing.TB, stream []byte) []byte {
	tb.Helper()
	const alpha = 0x10
	const lossless = 1
	still := readFile(tb, folder("webp", "lossy.webp"))
	return webpOf(vp8x(alpha, 75, 53), riffChunk("ALPH", append([]byte{lossless}, stream...)), bitstream(still))
}

// DEC-01: files of some 100 kB that make a decoder allocate prefix codes for
// hundreds of megabytes are refused before it does.
func TestManyPrefixCodesAreRefused(t *testing.T) {
	million, small := image.Pt(1024, 1024), image.Pt(256, 256)
	const animated = 2
	for name, tc := range map[string]struct {
		data []byte
		kind failure.Kind
	}{
		"65536 groups":           {webpOf(vp8lOf(million, manyGroups(million, 2, 1<<16, 1, 0))), failure.TooLarge},
		"65536 groups, a cache":  {webpOf(vp8lOf(million, manyGroups(million, 2, 1<<16, 1, 11))), failure.TooLarge},
		"4096 groups":            {webpOf(vp8lOf(small, manyGroups(small, 2, 4096, 1, 0))), failure.TooLarge},
		"4096 groups that lie":   {webpOf(vp8lOf(small, manyGroups(small, 2, 4096, 1, 0)[:12000])), failure.BrokenImage},
		"4096 groups, animation": {webpOf(vp8x(animated, 256, 256), riffChunk("ANMF", frame(0, 0, 256, 256, vp8lOf(small, manyGroups(small, 2, 4096, 1, 0))))), failure.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			before := testkit.Resident(t)
			h, err := decode.Open(tc.data, options())
			grown := testkit.Resident(t) - before
			if failure.KindOf(err) != tc.kind {
				t.Errorf("got %v, want %s", err, tc.kind)
			}
			if h.Width == 0 {
				t.Error("its size is not told")
			}
			if grown > 4<<20 {
				t.Errorf("took %d bytes", grown)
			}
		})
	}
}

// What is not refused counts, as far as the codes are kept.
func TestPrefixCodesCountAsMemory(t *testing.T) {
	const group = 5000 // at least, in every decoder; the bound is far above
	large, small := image.Pt(4096, 4096), image.Pt(75, 53)
	plain := func(size image.Point) int64 {
		t.Helper()
		h, err := decode.Open(webpOf(vp8lOf(size, manyGroups(size, 9, 1, 1, 0))), options())
		if err != nil {
			t.Fatal(err)
		}
		return h.Memory
	}
	for name, tc := range map[string]struct {
		data  []byte
		plain int64
		kept  int64
	}{
		"usual":                   {webpOf(vp8lOf(large, manyGroups(large, 5, 2600, 1, 10))), plain(large), 2600},
		"one of many":             {webpOf(vp8lOf(large, manyGroups(large, 9, 64, 1000, 0))), plain(large), 64},
		"few, in a large picture": {webpOf(vp8lOf(large, manyGroups(large, 5, 4000, 1, 0))), plain(large), 4000},
		"all, few":                {webpOf(vp8lOf(small, manyGroups(small, 4, 20, 40, 0))), plain(small), 761},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := decode.Open(tc.data, options())
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Memory - tc.plain; got < tc.kept*group || got > tc.kept*60_000 {
				t.Errorf("%d bytes for %d groups", got, tc.kept)
			}
		})
	}
}

func TestPrefixCodesOfAlphaCount(t *testing.T) {
	size := image.Pt(75, 53)
	var sizes []int64
	for _, groups := range []int{1, 100} {
		data := alphaWith(t, manyGroups(size, 2, groups, 1, 0))
		h, err := decode.Open(data, options())
		if err != nil {
			t.Fatal(err)
		}
		var pool pixels.Pool
		img, err := h.Decode(t.Context(), &pool, decode.View{})
		if err != nil {
			t.Fatal(err)
		}
		img.Release()
		sizes = append(sizes, h.Memory)
	}
	if sizes[1]-sizes[0] < 99*5000 {
		t.Errorf("1 and 100 groups take %v bytes", sizes)
	}
	broken := alphaWith(t, manyGroups(size, 2, 100, 1, 0)[:200])
	if _, err := decode.Open(broken, options()); failure.KindOf(err) != failure.BrokenImage {
		t.Errorf("cut off: %v", err)
	}
}

// Wherever a lossless file is cut off it is broken, and so is one whose head
// makes no sense.
func TestBrokenLosslessHeads(t *testing.T) {
	size := image.Pt(75, 53)
	stream := manyGroups(size, 2, 30, 1, 5)
	for n := range stream {
		if _, err := decodeAll(webpOf(vp8lOf(size, stream[:n])), options()); failure.KindOf(err) != failure.BrokenImage {
			t.Fatalf("cut off behind %d bytes: %v", n, err)
		}
	}
	for name, bits := range map[string][][2]int{ // each a value and how many bits it has
		"a transform twice":       {{1, 1}, {2, 2}, {1, 1}, {2, 2}},
		"a cache of none":         {{0, 1}, {1, 1}, {0, 4}},
		"a cache too large":       {{0, 1}, {1, 1}, {12, 4}},
		"a code of nothing":       {{0, 1}, {0, 1}, {1, 1}, {0, 3}, {0, 1}, {0, 1}, {0, 4}, {0, 12}},
		"a code with room":        {{0, 1}, {0, 1}, {1, 1}, {0, 3}, {0, 1}, {0, 1}, {0, 4}, {0b010_010_000_000, 12}},
		"a code with too many":    {{0, 1}, {0, 1}, {1, 1}, {0, 3}, {0, 1}, {0, 1}, {0, 4}, {0b001_001_001_000, 12}},
		"a copy of nothing":       {{0, 1}, {0, 1}, {1, 1}, {0, 3}, {0, 1}, {0b101, 3}, {255, 8}, {1, 1}, {0, 12}},
		"more lengths than fit":   {{0, 1}, {0, 1}, {1, 1}, {0, 3}, {0, 1}, {0, 1}, {0, 4}, {0b001_000_000_001, 12}, {1, 1}, {7, 3}, {0xffff, 16}},
		"a distance beyond codes": {{0, 1}, {0, 1}, {1, 1}, {0, 3}, {0, 1}, {1, 4}, {1, 4}, {1, 4}, {1, 4}, {0b101, 3}, {99, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			var w vp8lWriter
			for _, b := range bits {
				w.bits(b[0], b[1])
			}
			w.bits(0, 1)
			stream := slices.Concat(w.out, make([]byte, 4000))
			if _, err := decodeAll(webpOf(vp8lOf(size, stream)), options()); failure.KindOf(err) != failure.BrokenImage {
				t.Errorf("got %v", err)
			}
		})
	}
}
