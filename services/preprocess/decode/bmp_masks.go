package decode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// bmpMask is where a sample stands in a pixel, and what its values become.
type bmpMask struct {
	mask  uint32
	shift int
	most  uint32
}

// sample is v*255/most, rounded down as Pillow does it for 5 and 6 bits.
func (m bmpMask) sample(pixel uint32) byte {
	v := uint64(pixel&m.mask) >> m.shift
	if m.most == 0xff {
		return byte(v)
	}
	return byte(v * 0xff / max(uint64(m.most), 1))
}

func bmpMaskOf(mask uint32) (bmpMask, bool) {
	if mask == 0 {
		return bmpMask{}, true
	}
	shift := bits.TrailingZeros32(mask)
	most := mask >> shift
	return bmpMask{mask: mask, shift: shift, most: most}, most&(most+1) == 0
}

// readMasks finds where red, green, blue and alpha stand in a pixel of 16 or 32
// bits, and says where the palette begins.
func (f *bmpFile) readMasks(headerSize int64) (after int64, err error) {
	after = bmpFileHeader + headerSize
	stored := map[int][4]uint32{
		16: {0x7c00, 0x03e0, 0x001f, 0}, 24: {0xff0000, 0xff00, 0xff, 0}, 32: {0xff0000, 0xff00, 0xff, 0},
	}[f.bits]
	if f.compression == bmpFields {
		named := 3
		if headerSize >= 56 {
			named = 4
		}
		if headerSize == bmpInfo {
			after += 12 // the masks stand behind the header
		}
		const at = bmpFileHeader + bmpInfo
		if len(f.data) < at+4*named {
			return 0, broken(nil, BMP, truncated)
		}
		var masks [4]uint32
		for i := range named {
			masks[i] = binary.LittleEndian.Uint32(f.data[at+4*i:])
		}
		if f.bits == 32 && masks == [4]uint32{} {
			masks = [4]uint32{0xff0000, 0xff00, 0xff, 0xff000000}
		}
		stored = masks
	}
	for i, mask := range stored {
		var ok bool
		if f.masks[i], ok = bmpMaskOf(mask); !ok || i < 3 && mask == 0 && f.bits > 8 {
			return 0, unsupported(nil, BMP, fmt.Sprintf("uncommon bit masks (%x)", stored))
		}
	}
	return after, nil
}
