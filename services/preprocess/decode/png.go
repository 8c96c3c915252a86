package decode

import (
	"encoding/binary"
	"hash/crc32"

	"triptych/services/preprocess/pixels"
)

// pngFile is what the chunks of a PNG file say of it.
type pngFile struct {
	width, height int
	depth, color  int
	interlaced    bool
	palette       []byte // colors of 3 bytes
	transparent   []byte // tRNS: alphas of the palette, or the one color that is transparent
	exif, profile []byte
	// data are the chunks from the first with pixels on, packed is how many bytes
	// of them are pixels. Whole tells that none of those is missing.
	data   []byte
	packed int
	whole  bool
}

// The color types of PNG.
const (
	pngGrey      = 0
	pngRGB       = 2
	pngPalette   = 3
	pngGreyAlpha = 4
	pngRGBA      = 6
)

// pngChannels are the samples of a pixel, by color type.
var pngChannels = [...]int{pngGrey: 1, pngRGB: 3, pngPalette: 1, pngGreyAlpha: 2, pngRGBA: 4}

// A pngChunk is named, and its data are followed by a checksum.
type pngChunk struct {
	name, data []byte
	// whole tells that all of the data and their checksum are there.
	whole bool
	// rest is what follows the chunk.
	rest []byte
	// summed is what the checksum is of.
	summed []byte
	sum    uint32
}

// nextChunk reads the chunk at the beginning of data. It has no name at their end.
func nextChunk(data []byte) pngChunk {
	if len(data) < 8 {
		return pngChunk{}
	}
	n, body := int64(binary.BigEndian.Uint32(data)), data[8:]
	c := pngChunk{name: data[4:8]}
	if n+4 > int64(len(body)) {
		c.data = body[:min(n, int64(len(body)))]
		return c
	}
	c.data, c.rest, c.whole = body[:n], body[n+4:], true
	c.summed = data[4 : 8+n]
	c.sum = binary.BigEndian.Uint32(body[n:])
	return c
}

// sound tells whether the checksum is right. That of a chunk that is cut off is
// not known to be wrong.
func (c pngChunk) sound() bool {
	return !c.whole || crc32.ChecksumIEEE(c.summed) == c.sum
}

// scanPNG walks the chunks. Texts and whatever else is compressed beside the
// pixels is never unpacked. EXIF data may stand behind the pixels.
func scanPNG(data []byte) (pngFile, error) {
	const signature, ihdr = 8, 8 + 8 + 13
	var f pngFile
	if len(data) < ihdr {
		return f, broken(nil, PNG, truncated)
	}
	first := nextChunk(data[signature:])
	if string(data[:signature]) != "\x89PNG\r\n\x1a\n" || string(first.name) != "IHDR" || len(first.data) < 13 || !first.sound() {
		return f, broken(nil, PNG, corrupt)
	}
	if !f.header(first.data) {
		return f, broken(nil, PNG, corrupt)
	}
	pixelsEnd := false
	for rest := first.rest; ; {
		c := nextChunk(rest)
		if c.name == nil || string(c.name) == "IEND" {
			return f, nil
		}
		switch {
		case string(c.name) == "IDAT" && !pixelsEnd:
			if f.data == nil {
				f.data = rest
			}
			f.packed += len(c.data)
			f.whole = c.whole
		case f.data != nil:
			pixelsEnd = true
			f.behind(c)
		case !f.before(c):
			return f, broken(nil, PNG, corrupt)
		}
		if rest = c.rest; !c.whole {
			return f, nil
		}
	}
}

// header takes over IHDR, unless it says what can't be.
func (f *pngFile) header(b []byte) bool {
	const most = 1<<31 - 1 // the format's own limit; no product below can overflow
	width, height := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if width > most || height > most {
		return false
	}
	f.width, f.height = int(width), int(height)
	f.depth, f.color, f.interlaced = int(b[8]), int(b[9]), b[12] == 1
	if b[10] != 0 || b[11] != 0 || b[12] > 1 {
		return false
	}
	switch f.color {
	case pngGrey:
		return f.depth == 1 || f.depth == 2 || f.depth == 4 || f.depth == 8 || f.depth == 16
	case pngPalette:
		return f.depth == 1 || f.depth == 2 || f.depth == 4 || f.depth == 8
	case pngRGB, pngGreyAlpha, pngRGBA:
		return f.depth == 8 || f.depth == 16
	}
	return false
}

// before takes over a chunk that stands before the pixels. It tells whether the
// picture can still be right: a palette matters to it, metadata don't.
func (f *pngFile) before(c pngChunk) bool {
	const largest = 256 * pixels.Samples
	switch string(c.name) {
	case "PLTE":
		if f.color == pngPalette {
			f.palette = c.data
			return c.sound() && len(c.data) > 0 && len(c.data) <= largest && len(c.data)%pixels.Samples == 0
		}
	case "tRNS":
		if c.sound() {
			f.transparent = c.data
		}
	case "iCCP":
		if c.whole && f.profile == nil {
			f.profile = c.data
		}
	default:
		f.behind(c)
	}
	return true
}

// behind takes over a chunk that may stand anywhere.
func (f *pngFile) behind(c pngChunk) {
	if string(c.name) == "eXIf" && c.whole && f.exif == nil {
		f.exif = c.data
	}
}

// bits are those of a pixel.
func (f *pngFile) bits() int { return f.depth * pngChannels[f.color] }

// rowBytes is a row of some pixels, without the byte that names its filter.
func (f *pngFile) rowBytes(width int) int { return (width*f.bits() + 7) / 8 }

func pngHeader(data []byte) (*header, error) {
	f, err := scanPNG(data)
	if err != nil {
		return nil, err
	}
	if f.color == pngPalette && f.palette == nil {
		return nil, broken(nil, PNG, "corrupt: it has no palette")
	}
	const rows = 3 // two of the file's and one that is scattered when the file is interlaced
	return &header{
		width: f.width, height: f.height, orientation: exifOrientation(f.exif),
		memory: int64(pixels.Samples)*int64(f.width)*int64(f.height) + rows*int64(f.rowBytes(f.width)+1),
		pixels: f.decode,
	}, nil
}
