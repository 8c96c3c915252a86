package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image/png"

	"triptych/services/preprocess/pixels"
)

// pngFile is what the chunks of a PNG file say of it.
type pngFile struct {
	width, height uint32
	depth, color  byte
	interlaced    bool
	exif          []byte
}

// chunkOverhead is the length, type and checksum around a chunk's data.
const chunkOverhead = 12

// scanPNG walks the chunks. EXIF data may stand behind the pixels.
func scanPNG(data []byte) (pngFile, error) {
	var f pngFile
	const ihdr = 8 + 8 + 13 // signature, length and type, contents
	if len(data) < ihdr {
		return f, broken(nil, PNG, truncated)
	}
	if string(data[:8]) != "\x89PNG\r\n\x1a\n" || string(data[12:16]) != "IHDR" {
		return f, broken(nil, PNG, corrupt)
	}
	f.width, f.height = binary.BigEndian.Uint32(data[16:]), binary.BigEndian.Uint32(data[20:])
	f.depth, f.color, f.interlaced = data[24], data[25], data[28] != 0
	for rest := data[8:]; len(rest) >= chunkOverhead; {
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest)-chunkOverhead) {
			break // the decoder will tell
		}
		if string(rest[4:8]) == "eXIf" {
			f.exif = rest[8 : 8+n]
			break
		}
		rest = rest[chunkOverhead+n:]
	}
	return f, nil
}

// memory is what image/png allocates, which depends on the color type, and the
// converted copy where one is needed.
func (f pngFile) memory() int64 {
	area := int64(f.width) * int64(f.height)
	own, converted := int64(4), int64(0)
	switch {
	case f.depth == 16:
		own, converted = 8, 4
	case f.color == 0 || f.color == 3: // grey or palette
		own, converted = 1, 4
	}
	if f.interlaced {
		own *= 2
	}
	return area * (own + converted)
}

func pngHeader(data []byte) (*header, error) {
	f, err := scanPNG(data)
	if err != nil {
		return nil, err
	}
	// Beyond this, a product could overflow and image/png refuses it anyway.
	if f.width > 1<<31-1 || f.height > 1<<31-1 {
		return nil, broken(nil, PNG, corrupt)
	}
	return &header{
		width: int(f.width), height: int(f.height), memory: f.memory(), orientation: exifOrientation(f.exif),
		pixels: func(j job) (*pixels.Image, error) { return decodePNG(j, data) },
	}, nil
}

func decodePNG(j job, data []byte) (*pixels.Image, error) {
	img, err := png.Decode(bytes.NewReader(data))
	var feature png.UnsupportedError
	if errors.As(err, &feature) {
		return nil, unsupported(err, PNG, "an unsupported "+string(feature))
	}
	if err != nil {
		return nil, brokenBy(err, PNG)
	}
	picture, err := j.picture(img)
	if err != nil {
		return nil, broken(err, PNG, corrupt)
	}
	return picture, nil
}
