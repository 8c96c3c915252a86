package decode

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"

	"triptych/services/preprocess/pixels"
)

// gifFile is what stands before the pixels of a GIF's first frame.
type gifFile struct {
	width, height int // of the canvas
	palette       []byte
	transparent   int // index, or -1
}

// The blocks of a GIF file.
const (
	gifExtension = 0x21
	gifControl   = 0xf9
	gifImage     = 0x2c
	gifHasTable  = 0x80
)

// scanGIF walks up to the first frame. Later frames are never looked at, so that
// an animation costs as much as a still.
func scanGIF(data []byte) (gifFile, error) {
	f := gifFile{transparent: -1}
	if len(data) < 13 {
		return f, broken(nil, GIF, truncated)
	}
	f.width, f.height = int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))
	rest, ok := f.table(data[10], data[13:])
	for ok && len(rest) > 1 && rest[0] == gifExtension {
		if rest[1] == gifControl && len(rest) >= 7 && rest[3]&1 != 0 {
			f.transparent = int(rest[6])
		}
		rest, ok = skipBlocks(rest[2:])
	}
	if !ok || len(rest) < 10 {
		return f, broken(nil, GIF, truncated)
	}
	if rest[0] != gifImage {
		return f, broken(nil, GIF, "corrupt: it has no first frame")
	}
	if _, ok = f.table(rest[9], rest[10:]); !ok {
		return f, broken(nil, GIF, truncated)
	}
	return f, nil
}

// table takes over the color table that flags announce.
func (f *gifFile) table(flags byte, data []byte) (rest []byte, ok bool) {
	if flags&gifHasTable == 0 {
		return data, true
	}
	n := 3 << (1 + flags&7)
	if len(data) < n {
		return nil, false
	}
	f.palette = data[:n]
	return data[n:], true
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

// color is a palette's color. As in Pillow, an index beyond the palette is black.
func (f *gifFile) color(index int) [4]byte {
	if 3*index+3 > len(f.palette) {
		return [4]byte{3: 255}
	}
	return [4]byte{f.palette[3*index], f.palette[3*index+1], f.palette[3*index+2], 255}
}

func gifHeader(data []byte) (*header, error) {
	f, err := scanGIF(data)
	if err != nil {
		return nil, err
	}
	return &header{
		width: f.width, height: f.height, orientation: upright,
		// image/gif refuses a frame that reaches beyond the canvas.
		memory: int64(f.width) * int64(f.height) * (1 + 4),
		pixels: func(j job) (*pixels.Image, error) { return f.decode(j, data) },
	}, nil
}

// decode draws the first frame on its canvas. Pixels are what Pillow's
// convert("RGB") makes of them: a transparent pixel has the color that the
// palette gives to the transparent index, and so has the canvas around the
// frame; without a transparent index the canvas has color 0.
func (f *gifFile) decode(j job, data []byte) (*pixels.Image, error) {
	decoded, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, brokenBy(err, GIF)
	}
	frame, ok := decoded.(*image.Paletted)
	if !ok {
		return nil, broken(nil, GIF, corrupt)
	}
	var colors [256][4]byte
	for i := range colors {
		colors[i] = f.color(i)
	}
	canvas := image.NewNRGBA(image.Rect(0, 0, f.width, f.height))
	if frame.Rect != canvas.Rect {
		fillRGBA(canvas.Pix, colors[max(f.transparent, 0)])
	}
	for y := frame.Rect.Min.Y; y < frame.Rect.Max.Y; y++ {
		at := canvas.PixOffset(frame.Rect.Min.X, y)
		row := frame.Pix[frame.PixOffset(frame.Rect.Min.X, y):][:frame.Rect.Dx()]
		for x, index := range row {
			copy(canvas.Pix[at+4*x:], colors[index][:])
		}
	}
	return j.flatten(canvas), nil
}

func fillRGBA(pixels []byte, color [4]byte) {
	for i := 0; i+4 <= len(pixels); i += 4 {
		copy(pixels[i:], color[:])
	}
}
