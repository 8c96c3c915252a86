package decode

import (
	"encoding/binary"

	"triptych/services/preprocess/pixels"
)

// pngUnpack turns pixels of a row into RGB, from the x-th on, as many as there is
// room for.
type pngUnpack func(row []byte, x int, to []byte)

// unpacker knows how the file's pixels become RGB, over the background where
// there is one. Samples of 16 bits keep their upper byte.
func (f *pngFile) unpacker(background *Color) pngUnpack {
	switch {
	case f.depth <= 8 && (f.color == pngGrey || f.color == pngPalette):
		return f.byTable(background)
	case f.depth == 8 && f.color == pngRGB && (background == nil || len(f.transparent) < 6):
		return func(row []byte, x int, to []byte) { copy(to, row[pixels.Samples*x:]) }
	case f.depth == 8 && f.color == pngRGBA:
		return func(row []byte, x int, to []byte) { background.flatten(row[4*x:], to) }
	default:
		return f.bySamples(background)
	}
}

// byTable is for pixels of one sample, of which there are few kinds.
func (f *pngFile) byTable(background *Color) pngUnpack {
	var table [256]Color
	for value := range 1 << f.depth {
		color, alpha := f.color1(value)
		table[value] = color
		if background != nil {
			background.under(alpha, color[:], table[value][:])
		}
	}
	perByte, mask := 8/f.depth, byte(1<<f.depth-1)
	return func(row []byte, x int, to []byte) {
		for ; len(to) >= pixels.Samples; x, to = x+1, to[pixels.Samples:] {
			shift := (perByte - 1 - x%perByte) * f.depth
			color := &table[row[x/perByte]>>shift&mask]
			to[0], to[1], to[2] = color[0], color[1], color[2]
		}
	}
}

// color1 is the color and alpha of a sample. As in Pillow, an index beyond the
// palette is black.
func (f *pngFile) color1(value int) (color Color, alpha byte) {
	if f.color == pngGrey {
		grey := byte(value * 255 / (1<<f.depth - 1))
		if f.isTransparent(value) {
			return Color{grey, grey, grey}, 0
		}
		return Color{grey, grey, grey}, 255
	}
	if at := pixels.Samples * value; at < len(f.palette) {
		color = Color(f.palette[at:])
	}
	if value < len(f.transparent) {
		return color, f.transparent[value]
	}
	return color, 255
}

// isTransparent tells whether samples, as they are stored, are the color that
// tRNS makes transparent.
func (f *pngFile) isTransparent(samples ...int) bool {
	if len(f.transparent) < 2*len(samples) {
		return false
	}
	mask := 1<<f.depth - 1
	for i, v := range samples {
		if int(binary.BigEndian.Uint16(f.transparent[2*i:]))&mask != v {
			return false
		}
	}
	return true
}

// bySamples is for all other pixels: 16 bits, grey with alpha, and RGB of which
// one color is transparent.
func (f *pngFile) bySamples(background *Color) pngUnpack {
	bytes, channels := f.depth/8, pngChannels[f.color]
	green, blue := bytes, 2*bytes // where those samples are
	if channels < 3 {
		green, blue = 0, 0
	}
	step := bytes * channels
	return func(row []byte, x int, to []byte) {
		for row = row[step*x:]; len(to) >= pixels.Samples && len(row) >= step; row, to = row[step:], to[pixels.Samples:] {
			to[0], to[1], to[2] = row[0], row[green], row[blue]
			if background != nil {
				background.under(f.alpha(row[:step]), to[:pixels.Samples], to)
			}
		}
	}
}

// alpha is that of a pixel of bySamples.
func (f *pngFile) alpha(pixel []byte) byte {
	bytes := f.depth / 8
	if f.color == pngGreyAlpha || f.color == pngRGBA {
		return pixel[len(pixel)-bytes]
	}
	var stored [pixels.Samples]int
	samples := stored[:len(pixel)/bytes]
	for i := range samples {
		samples[i] = int(pixel[i*bytes])
		if bytes == 2 {
			samples[i] = samples[i]<<8 | int(pixel[i*bytes+1])
		}
	}
	if f.isTransparent(samples...) {
		return 0
	}
	return 255
}
