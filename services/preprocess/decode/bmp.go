package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/image/bmp"

	"triptych/services/preprocess/pixels"
)

// bmpFeature names what keeps a BMP file from being read, if anything does.
func bmpFeature(infoSize uint32, bits uint16, compression uint32) string {
	switch {
	case infoSize != 40 && infoSize != 108 && infoSize != 124:
		return fmt.Sprintf("a header of %d bytes (OS/2 or another old kind)", infoSize)
	case compression == 1 || compression == 2:
		return "RLE compression"
	case compression == 4:
		return "a JPEG inside"
	case compression == 5:
		return "a PNG inside"
	case bits == 16:
		return "16 bits per pixel"
	}
	return ""
}

func bmpHeader(data []byte) (*header, error) {
	infoSize := binary.LittleEndian.Uint32(data[14:])
	if infoSize < 40 {
		return nil, unsupported(nil, BMP, bmpFeature(infoSize, 0, 0))
	}
	if len(data) < 14+40 {
		return nil, broken(nil, BMP, truncated)
	}
	width := int(int32(binary.LittleEndian.Uint32(data[18:])))
	height := int(int32(binary.LittleEndian.Uint32(data[22:])))
	bits, compression := binary.LittleEndian.Uint16(data[28:]), binary.LittleEndian.Uint32(data[30:])
	if feature := bmpFeature(infoSize, bits, compression); feature != "" {
		return nil, unsupported(nil, BMP, feature)
	}
	if height < 0 { // rows from top to bottom
		height = -height
	}
	memory := int64(4) // the pixels; indices of a palette beside them
	if bits <= 8 {
		memory++
	}
	return &header{
		width: width, height: height, orientation: upright, memory: memory * int64(width) * int64(height),
		pixels: func(j job) (*pixels.Image, error) { return decodeBMP(j, data) },
	}, nil
}

func decodeBMP(j job, data []byte) (*pixels.Image, error) {
	img, err := bmp.Decode(bytes.NewReader(data))
	if errors.Is(err, bmp.ErrUnsupported) {
		return nil, unsupported(err, BMP, "an uncommon layout (bit masks, planes or a gap before the pixels)")
	}
	if err != nil {
		return nil, brokenBy(err, BMP)
	}
	picture, err := j.picture(img)
	if err != nil {
		return nil, broken(err, BMP, corrupt)
	}
	return picture, nil
}
