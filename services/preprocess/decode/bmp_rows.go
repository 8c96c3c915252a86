package decode

import (
	"encoding/binary"

	"triptych/services/preprocess/pixels"
)

// row turns a stored row into RGB, from a column on and as far as there is room.
func (f *bmpFile) row(j job, stored []byte, column int, to []byte) error {
	alpha := f.masks[3].mask != 0 && j.opts.Background != nil
	switch {
	case f.bits <= 8:
		return f.paletted(stored, column, to)
	case f.bits == 24 && f.compression == bmpRaw:
		swapped(stored[3*column:], 3, to)
	case f.bits == 32 && f.compression == bmpRaw:
		swapped(stored[4*column:], 4, to)
	case !alpha:
		f.masked(stored[f.bits/8*column:], to)
	default:
		f.overBackground(j, stored[f.bits/8*column:], to)
	}
	return nil
}

// swapped copies pixels of blue, green and red.
func swapped(from []byte, size int, to []byte) {
	for ; len(to) >= 3 && len(from) >= 3; to, from = to[3:], from[min(size, len(from)):] {
		to[0], to[1], to[2] = from[2], from[1], from[0]
	}
}

// pixel is the stored pixel at the front.
func (f *bmpFile) pixel(stored []byte) uint32 {
	switch f.bits {
	case 16:
		return uint32(binary.LittleEndian.Uint16(stored))
	case 24:
		return uint32(stored[0]) | uint32(stored[1])<<8 | uint32(stored[2])<<16
	default:
		return binary.LittleEndian.Uint32(stored)
	}
}

func (f *bmpFile) masked(stored, to []byte) {
	for size := f.bits / 8; len(to) >= 3 && len(stored) >= size; to, stored = to[3:], stored[size:] {
		v := f.pixel(stored)
		to[0], to[1], to[2] = f.masks[0].sample(v), f.masks[1].sample(v), f.masks[2].sample(v)
	}
}

func (f *bmpFile) overBackground(j job, stored, to []byte) {
	var rgba [4]byte
	for size := f.bits / 8; len(to) >= 3 && len(stored) >= size; to, stored = to[3:], stored[size:] {
		v := f.pixel(stored)
		for i, mask := range f.masks {
			rgba[i] = mask.sample(v)
		}
		j.opts.Background.under(rgba[3], rgba[:3], to[:3])
	}
}

func (f *bmpFile) paletted(stored []byte, column int, to []byte) error {
	indices := stored[min(column, len(stored)):]
	if f.bits < 8 {
		indices = widened(f.unpacked[:0], stored, f.bits, column, len(to)/pixels.Samples)
		f.unpacked = indices
	}
	return noColor(f.palette.look(indices, 1, to), BMP)
}
