//go:build cgo && !portable

package decode_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"slices"
	"testing"
)

// photo is a JPEG file with something in every block.
func photo(tb testing.TB, width, height int) []byte {
	tb.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(i*i>>7 + i>>3)
	}
	for i := range img.Cb {
		img.Cb[i], img.Cr[i] = byte(i>>2), byte(i*i>>9)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 85}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// jpegSegment is a marker and what it says.
func jpegSegment(marker byte, payload ...byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(payload)+2)), payload...)
}

// blank is a grey progressive file of these scans, that says nothing: all of its
// coefficients stay 0. Each scan takes a bit for many blocks.
func blank(width, height, scans int) []byte {
	blocks := (width + 7) / 8 * ((height + 7) / 8)
	frame := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{8}, uint16(height)), uint16(width))
	out := slices.Concat(
		[]byte{0xff, 0xd8},
		jpegSegment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...),
		jpegSegment(0xc2, append(frame, 1, 1, 0x11, 0)...),
		// One code of one bit each: the difference 0, and a run of 2^14 blocks.
		jpegSegment(0xc4, append(append([]byte{0x00, 1}, make([]byte, 15)...), 0x00)...),
		jpegSegment(0xc4, append(append([]byte{0x10, 1}, make([]byte, 15)...), 0xe0)...),
		jpegSegment(0xda, 1, 1, 0, 0, 0, 0), make([]byte, (blocks+7)/8),
		jpegSegment(0xda, 1, 1, 0, 1, 63, 0x01), make([]byte, (blocks+1<<14-1)>>14*15/8+1),
	)
	refine := append(jpegSegment(0xda, 1, 1, 0, 1, 63, 0x10), make([]byte, (blocks+1<<14-1)>>14*15/8+1)...)
	for range scans - 2 {
		out = append(out, refine...)
	}
	return append(out, 0xff, 0xd9)
}

// sequential is a picture of three components at full size, each in a scan of its
// own, that says nothing.
func sequential(width, height int) []byte {
	blocks, out := beginning(width, height)
	for component := range byte(3) {
		out = append(append(out, jpegSegment(0xda, 1, component+1, 0, 0, 63, 0)...), make([]byte, (2*blocks+7)/8)...)
	}
	return append(out, 0xff, 0xd9)
}

// flat is the same picture in one scan.
func flat(width, height int) []byte {
	blocks, out := beginning(width, height)
	out = append(append(out, jpegSegment(0xda, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0)...), make([]byte, (3*2*blocks+7)/8)...)
	return append(out, 0xff, 0xd9)
}

// beginning is what comes before the first scan of those, and how many blocks a
// component has, of two bits each.
func beginning(width, height int) (blocks int, out []byte) {
	frame := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{8}, uint16(height)), uint16(width))
	return (width + 7) / 8 * ((height + 7) / 8), slices.Concat(
		[]byte{0xff, 0xd8},
		jpegSegment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...),
		jpegSegment(0xc0, append(frame, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0)...),
		// One code of one bit each: the difference 0, and the end of the block.
		jpegSegment(0xc4, append(append([]byte{0x00, 1}, make([]byte, 15)...), 0x00)...),
		jpegSegment(0xc4, append(append([]byte{0x10, 1}, make([]byte, 15)...), 0x00)...),
	)
}
