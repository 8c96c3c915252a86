package decode

import (
	"encoding/binary"
	"fmt"
)

// The ways in which the pixels of a BMP file are stored.
const (
	bmpRaw    = 0
	bmpRLE8   = 1
	bmpRLE4   = 2
	bmpFields = 3
	bmpJPEG   = 4
	bmpPNG    = 5
)

// The sizes of the headers that differ in more than what follows.
const (
	bmpFileHeader = 14
	bmpCore       = 12 // OS/2 1
	bmpShort      = 16 // OS/2 2, cut off
	bmpInfo       = 40 // Windows 3
	bmpOS2        = 64 // OS/2 2
)

func scanBMP(data []byte) (*bmpFile, error) {
	le := binary.LittleEndian
	size := int64(le.Uint32(data[bmpFileHeader:]))
	if int64(len(data)) < bmpFileHeader+size {
		return nil, broken(nil, BMP, truncated)
	}
	f, h := &bmpFile{data: data, offset: int64(le.Uint32(data[10:]))}, data[bmpFileHeader:]
	entry, colors := 4, 0
	if size == bmpCore {
		entry = 3
		f.width, f.height, f.bits = int(le.Uint16(h[4:])), int(le.Uint16(h[6:])), int(le.Uint16(h[10:]))
	} else {
		f.width, f.height, f.bits = int(int32(le.Uint32(h[4:]))), int(int32(le.Uint32(h[8:]))), int(le.Uint16(h[14:]))
	}
	if size >= bmpInfo {
		f.compression, colors = le.Uint32(h[16:]), int(le.Uint32(h[32:]))
	}
	if f.height < 0 {
		f.height, f.topDown = -f.height, true
	}
	if feature := f.feature(size); feature != "" {
		return nil, unsupported(nil, BMP, feature)
	}
	after, err := f.readMasks(size)
	if err != nil {
		return nil, err
	}
	f.readPalette(bmpFileHeader+size, after, entry, colors)
	return f, nil
}

// feature names what keeps the file from being read, if anything does.
func (f *bmpFile) feature(headerSize int64) string {
	os2 := headerSize == bmpOS2
	switch c := f.compression; {
	case os2 && c == 3:
		return "Huffman compression, as of OS/2"
	case os2 && c == 4:
		return "RLE compression of 24 bits, as of OS/2"
	case c == bmpJPEG:
		return "a JPEG inside"
	case c == bmpPNG:
		return "a PNG inside"
	case c > bmpPNG:
		return fmt.Sprintf("compression %d", c)
	case c == bmpRLE8 && f.bits != 8, c == bmpRLE4 && f.bits != 4, c == bmpFields && f.bits < 16:
		return fmt.Sprintf("compression %d of %d bits per pixel", c, f.bits)
	}
	switch f.bits {
	case 1, 2, 4, 8, 16, 24, 32:
		return ""
	}
	return fmt.Sprintf("%d bits per pixel", f.bits)
}

// readPalette reads the colors. They begin behind the masks and end where they
// end, even if pixels stand there as well. A file with no offset, or with one
// that forgets the palette, has its pixels behind it.
func (f *bmpFile) readPalette(headerEnd, at int64, entry, colors int) {
	if f.bits > 8 {
		if f.offset == 0 {
			f.offset = at
		}
		return
	}
	if colors <= 0 {
		colors = 1 << f.bits
	}
	length := int64(entry) * int64(colors)
	if f.offset == 0 || f.offset == headerEnd {
		f.offset = at + length
	}
	stored := f.data[at:]
	for i := 0; i < min(colors, 1<<f.bits) && len(stored) >= entry; i++ {
		f.palette.add(stored[2], stored[1], stored[0])
		stored = stored[entry:]
	}
}
