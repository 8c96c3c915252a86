package decode

import "encoding/binary"

// vp8lBits reads a lossless WebP's bits, the lowest of a byte first. Behind the
// end there are zeros.
type vp8lBits struct {
	data  []byte // what is still to be loaded
	held  uint64
	count uint
	// left is how many bits are still to be read, negative when too many were.
	left int64
}

// newVP8LBits takes fewer than 8 bytes for 8, as libwebp does.
func newVP8LBits(data []byte) vp8lBits {
	const word = 64
	return vp8lBits{data: data, left: max(8*int64(len(data)), word)}
}

// fill sees to it that 32 bits are held.
func (b *vp8lBits) fill() {
	const half = 32
	if b.count >= half {
		return
	}
	if len(b.data) >= 4 {
		b.held |= uint64(binary.LittleEndian.Uint32(b.data)) << b.count
		b.data = b.data[4:]
		b.count += half
		return
	}
	for _, v := range b.data {
		b.held |= uint64(v) << b.count
		b.count += 8
	}
	b.data, b.count = nil, max(b.count, half)
}

func (b *vp8lBits) skip(n uint) {
	b.held >>= n
	b.count -= n
	b.left -= int64(n)
}

// read takes up to 16 bits.
func (b *vp8lBits) read(n uint) int {
	b.fill()
	v := int(b.held & (1<<n - 1))
	b.skip(n)
	return v
}

func (b *vp8lBits) flag() bool { return b.read(1) == 1 }
