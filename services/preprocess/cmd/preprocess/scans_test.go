package main_test

import (
	"encoding/binary"
	"slices"
)

// segment is a marker of a JPEG file with its data.
func segment(marker byte, data ...byte) []byte {
	head := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(data)))
	return append(head, data...)
}

// manyScans is a small JPEG file that takes long: grey, 5500x5500, progressive, with
// nearly as many scans as one of its size may have. Each walks over all blocks.
func manyScans() []byte {
	const side, most = 5500, 22
	const blocks = (side + 7) / 8
	size := binary.BigEndian.AppendUint16(nil, side)
	out := slices.Concat(
		[]byte{0xff, 0xd8},
		segment(0xdb, append([]byte{0}, slices.Repeat([]byte{1}, 64)...)...),
		segment(0xc2, slices.Concat([]byte{8}, size, size, []byte{1, 1, 0x11, 0})...),
		// One code of one bit each: "the same as before", and 2^14 or more empty blocks.
		segment(0xc4, append([]byte{0x00, 1}, make([]byte, 16)...)...),
		segment(0xc4, slices.Concat([]byte{0x10, 1}, make([]byte, 15), []byte{0xe0})...),
		// The first scan: a bit for each block.
		segment(0xda, 1, 1, 0, 0, 0, 0), make([]byte, blocks*blocks/8+1),
	)
	// A scan for each of some frequencies: runs of empty blocks, each a code and 14
	// bits.
	runs := make([]byte, (blocks*blocks/(1<<14)+1)*15/8+1)
	for frequency := byte(1); frequency < most; frequency++ {
		out = slices.Concat(out, segment(0xda, 1, 1, 0, frequency, frequency, 0), runs)
	}
	return append(out, 0xff, 0xd9)
}
