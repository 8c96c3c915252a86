package decode

import (
	"encoding/binary"
	"image"

	"triptych/services/preprocess/pixels"
)

// gifFile is what stands before the pixels of a GIF's first frame.
type gifFile struct {
	canvas      image.Point
	frame       image.Rectangle
	palette     []byte // nil for greys
	transparent int    // index, or -1
	interlaced  bool
	// codeBits is how many bits a code has at first, less one; codes are the blocks
	// that hold them.
	codeBits int
	codes    []byte
}

// The blocks of a GIF file.
const (
	gifExtension = 0x21
	gifControl   = 0xf9
	gifImage     = 0x2c
	gifTrailer   = 0x3b
	gifHasTable  = 0x80
	gifInterlace = 0x40
)

// scanGIF walks up to the first frame. Later frames are never looked at, so that
// an animation costs as much as a still.
func scanGIF(data []byte) (gifFile, error) {
	const head = 13
	f := gifFile{transparent: -1}
	if len(data) < head {
		return f, broken(nil, GIF, truncated)
	}
	f.canvas = gifPoint(data[6:])
	rest, ok := f.table(data[10], data[head:])
	for ok && len(rest) > 0 && rest[0] != gifImage {
		switch {
		case rest[0] == gifTrailer:
			return f, broken(nil, GIF, "corrupt: it has no first frame")
		case rest[0] != gifExtension: // nobody knows; as Pillow, go on behind it
			rest = rest[1:]
		default:
			rest, ok = f.extension(rest[1:])
		}
	}
	if !ok || !f.image(rest) {
		return f, broken(nil, GIF, truncated)
	}
	return f, nil
}

func gifPoint(b []byte) image.Point {
	return image.Pt(int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:])))
}

// extension passes an extension, and takes over which color is transparent.
func (f *gifFile) extension(data []byte) (rest []byte, ok bool) {
	const isTransparent, size = 1, 4
	if len(data) == 0 {
		return nil, false
	}
	if data[0] == gifControl && len(data) >= 2+size && data[1] >= size && data[2]&isTransparent != 0 {
		f.transparent = int(data[1+size])
	}
	return skipBlocks(data[1:])
}

// image takes over what stands before the codes of a frame.
func (f *gifFile) image(data []byte) bool {
	const head = 10
	if len(data) < head {
		return false
	}
	f.frame = image.Rectangle{Max: gifPoint(data[5:])}.Add(gifPoint(data[1:]))
	f.interlaced = data[9]&gifInterlace != 0
	rest, ok := f.table(data[9], data[head:])
	if !ok || len(rest) == 0 {
		return false
	}
	f.codeBits, f.codes = int(rest[0]), rest[1:]
	return true
}

// table takes over the color table that flags announce.
func (f *gifFile) table(flags byte, data []byte) (rest []byte, ok bool) {
	if flags&gifHasTable == 0 {
		return data, true
	}
	n := pixels.Samples << (1 + flags&7)
	if len(data) < n {
		return nil, false
	}
	f.palette = data[:n]
	if greys(f.palette) {
		f.palette = nil
	}
	return data[n:], true
}

// greys tells whether each color is the grey of its index: then every index is
// one, beyond the table as well.
func greys(palette []byte) bool {
	for i, v := range palette {
		if int(v) != i/pixels.Samples {
			return false
		}
	}
	return true
}

// skipBlocks skips data blocks up to the empty one that ends them.
func skipBlocks(data []byte) (rest []byte, ok bool) {
	for len(data) > 0 && len(data) > int(data[0]) {
		n := int(data[0])
		data = data[1+n:]
		if n == 0 {
			return data, true
		}
	}
	return nil, false
}

// colors are what the indices become. As in Pillow, an index beyond the palette
// is black, and a transparent pixel without a background has the color that the
// palette gives to its index.
func (f *gifFile) colors(background *Color) *[256]Color {
	var colors [256]Color
	for i := range colors {
		switch at := pixels.Samples * i; {
		case f.palette == nil:
			colors[i] = Color{byte(i), byte(i), byte(i)}
		case at < len(f.palette):
			colors[i] = Color(f.palette[at:])
		}
		if i == f.transparent && background != nil {
			colors[i] = *background
		}
	}
	return &colors
}

func gifHeader(data []byte) (*header, error) {
	f, err := scanGIF(data)
	if err != nil {
		return nil, err
	}
	return &header{
		width: f.canvas.X, height: f.canvas.Y, orientation: upright,
		memory: int64(f.canvas.X)*int64(f.canvas.Y)*pixels.Samples + int64(f.canvas.X),
		pixels: f.decode,
	}, nil
}
