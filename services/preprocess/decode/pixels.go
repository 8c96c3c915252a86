package decode

import "triptych/services/preprocess/pixels"

// flatten turns a row of RGBA into RGB: over the color, as Pillow's paste with
// the alpha as its mask does it, or without its alpha where there is no color.
func (c *Color) flatten(row, to []byte) {
	if c == nil {
		dropAlpha(row, to)
		return
	}
	for ; len(row) >= 4 && len(to) >= 3; row, to = row[4:], to[3:] {
		c.under(row[3], row, to)
	}
}

// dropAlpha copies the colors of a row of RGBA.
func dropAlpha(row, to []byte) {
	for ; len(row) >= 4 && len(to) >= 3; row, to = row[4:], to[3:] {
		to[0], to[1], to[2] = row[0], row[1], row[2]
	}
}

// under lays one pixel over the color.
func (c *Color) under(alpha byte, rgb, to []byte) {
	over, rest := uint(alpha), uint(255-alpha)
	for i := range c {
		v := uint(rgb[i])*over + uint(c[i])*rest + 128
		to[i] = byte((v>>8 + v) >> 8)
	}
}

// fill makes every pixel the same.
func fill(row []byte, color [pixels.Samples]byte) {
	if len(row) < pixels.Samples {
		return
	}
	done := copy(row, color[:])
	for done < len(row) {
		done += copy(row[done:], row[:done])
	}
}
