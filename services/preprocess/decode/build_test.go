package decode_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"maps"
	"slices"
	"testing"
)

// unhex is the bytes of hex digits, blanks allowed.
func unhex(tb testing.TB, digits string) []byte {
	tb.Helper()
	data, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(digits), []byte(" "), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// exifOf is EXIF data with one entry.
func exifOf(order binary.AppendByteOrder, tag, kind uint16, count, value uint32) []byte {
	data := []byte("II*\x00")
	if order.AppendUint16(nil, 1)[0] == 0 {
		data = []byte("MM\x00*")
	}
	data = order.AppendUint32(data, 8)
	data = order.AppendUint16(data, 1)
	data = order.AppendUint16(order.AppendUint16(data, tag), kind)
	data = order.AppendUint32(data, count)
	if kind == 3 {
		data = order.AppendUint16(order.AppendUint16(data, uint16(value)), 0)
	} else {
		data = order.AppendUint32(data, value)
	}
	return order.AppendUint32(data, 8) // a next directory that is this one
}

// jpegWith puts EXIF data into a JPEG file.
func jpegWith(jpeg, exif []byte) []byte {
	segment := append([]byte("Exif\x00\x00"), exif...)
	head := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(segment)+2))
	return slices.Concat(head, segment, jpeg[2:])
}

// chunk is a chunk of a PNG file.
func chunk(name string, data []byte) []byte {
	body := append([]byte(name), data...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
}

// pngOf is a PNG file of a header and some bytes of IDAT.
func pngOf(width, height uint32, depth, color, interlace byte, idat []byte) []byte {
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	ihdr = append(ihdr, depth, color, 0, 0, interlace)
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", ihdr), chunk("IDAT", idat))
}

// riffChunk is a chunk of a WebP file.
func riffChunk(name string, data []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data)))
	out = append(out, data...)
	if len(data)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func webpOf(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), slices.Concat(chunks...)...)
	return slices.Concat(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body)
}

func put24(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16)} }

// vp8x is the chunk with a WebP file's features and canvas.
func vp8x(flags byte, width, height int) []byte {
	return riffChunk("VP8X", slices.Concat([]byte{flags, 0, 0, 0}, put24(width-1), put24(height-1)))
}

// bitstream is the first VP8 or VP8L chunk of a still WebP file without VP8X.
func bitstream(still []byte) []byte { return still[12:] }

// tiffOf is a TIFF file of one page: tags with one number each, given as LONG,
// and pixel data, to which the tag 273 points.
func tiffOf(tags map[uint16]uint32, pixels []byte) []byte {
	tags = maps.Clone(tags)
	const head = 8
	if _, tiled := tags[322]; tiled {
		tags[324], tags[325] = head, cmp.Or(tags[325], uint32(len(pixels)))
	} else {
		tags[273], tags[279] = head, cmp.Or(tags[279], uint32(len(pixels)))
	}
	le := binary.LittleEndian
	out := le.AppendUint32([]byte("II*\x00"), uint32(head+len(pixels)))
	out = append(out, pixels...)
	out = le.AppendUint16(out, uint16(len(tags)))
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		out = le.AppendUint16(le.AppendUint16(out, tag), 4)
		out = le.AppendUint32(le.AppendUint32(out, 1), tags[tag])
	}
	return le.AppendUint32(out, 0)
}

// greyPage are the tags of an 8-bit grey page.
func greyPage(width, height uint32) map[uint16]uint32 {
	return map[uint16]uint32{256: width, 257: height, 258: 8, 259: 1, 262: 1, 278: height}
}
