package main_test

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
)

// photograph is a JPEG file as a camera makes it, with half the resolution of chroma
// and so many bytes, of a picture that is all grey: its memory is that of any other.
func photograph(width, height, size int) []byte {
	frame := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{8}, uint16(height)), uint16(width))
	out := slices.Concat(
		[]byte{0xff, 0xd8},
		segment(0xdb, append([]byte{0}, slices.Repeat([]byte{1}, 64)...)...),
		segment(0xc0, append(frame, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0)...),
		// One code of one bit each: the difference 0, and the end of the block.
		segment(0xc4, append([]byte{0x00, 1}, make([]byte, 16)...)...),
		segment(0xc4, append([]byte{0x10, 1}, make([]byte, 16)...)...),
	)
	for comment := make([]byte, 60_000); len(out) < size; {
		out = append(out, segment(0xfe, comment...)...)
	}
	const bits = 6 * 2 // four blocks of luma, two of chroma
	units := (width + 15) / 16 * ((height + 15) / 16)
	out = append(out, segment(0xda, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0)...)
	return append(append(out, make([]byte, (units*bits+7)/8)...), 0xff, 0xd9)
}

// 64 callers at once with photographs of 12 megapixels, and the default budget: less
// than a gigabyte, and nobody is refused.
func TestMemoryOfManyPhotographs(t *testing.T) {
	const callers, most = 64, 1 << 30
	data := photograph(4000, 3000, 4_000_000)
	s := start(t, "--request-timeout=10m")
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if err := s.ask(t, data); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if peak := s.usage(t).peak; peak > most {
		t.Errorf("%d MiB, want less than %d", peak/mega, most/mega)
	}
}
