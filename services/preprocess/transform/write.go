package transform

import "encoding/binary"

// write lays out all pixels of rgb. Conversions to arrays are one check of bounds
// for all that is in them, which is most of what these loops cost.
func (l *layout) write(rgb, out []byte) {
	done := 0
	switch {
	case l.floats != nil && l.step == 4:
		done = l.floatPlanes(rgb, out)
	case l.halves != nil && l.step == 2:
		done = l.halfPlanes(rgb, out)
	case l.floats != nil:
		done = l.floatPixels(rgb, out)
	case l.halves != nil:
		done = l.halfPixels(rgb, out)
	}
	rgb, out = rgb[3*done:], out[l.step*done:]
	switch {
	case l.floats != nil:
		l.writeFloats(rgb, out)
	case l.halves != nil:
		l.writeHalves(rgb, out)
	default:
		l.writeBytes(rgb, out)
	}
}

// floatPlanes is writeFloats for planes, four pixels at a time. It returns how many
// pixels it has written.
func (l *layout) floatPlanes(rgb, out []byte) (pixels int) {
	red, green, blue := out[l.offsets[0]:], out[l.offsets[1]:], out[l.offsets[2]:]
	reds, greens, blues := &l.floats[0], &l.floats[1], &l.floats[2]
	for ; len(rgb) >= 12; pixels, rgb = pixels+4, rgb[12:] {
		p := (*[12]byte)(rgb)
		r, g, b := (*[16]byte)(red), (*[16]byte)(green), (*[16]byte)(blue)
		red, green, blue = red[16:], green[16:], blue[16:]
		binary.LittleEndian.PutUint32(r[0:], reds[p[0]])
		binary.LittleEndian.PutUint32(r[4:], reds[p[3]])
		binary.LittleEndian.PutUint32(r[8:], reds[p[6]])
		binary.LittleEndian.PutUint32(r[12:], reds[p[9]])
		binary.LittleEndian.PutUint32(g[0:], greens[p[1]])
		binary.LittleEndian.PutUint32(g[4:], greens[p[4]])
		binary.LittleEndian.PutUint32(g[8:], greens[p[7]])
		binary.LittleEndian.PutUint32(g[12:], greens[p[10]])
		binary.LittleEndian.PutUint32(b[0:], blues[p[2]])
		binary.LittleEndian.PutUint32(b[4:], blues[p[5]])
		binary.LittleEndian.PutUint32(b[8:], blues[p[8]])
		binary.LittleEndian.PutUint32(b[12:], blues[p[11]])
	}
	return pixels
}

// halfPlanes is writeHalves for planes, as floatPlanes is for floats.
func (l *layout) halfPlanes(rgb, out []byte) (pixels int) {
	red, green, blue := out[l.offsets[0]:], out[l.offsets[1]:], out[l.offsets[2]:]
	reds, greens, blues := &l.halves[0], &l.halves[1], &l.halves[2]
	for ; len(rgb) >= 12; pixels, rgb = pixels+4, rgb[12:] {
		p := (*[12]byte)(rgb)
		r, g, b := (*[8]byte)(red), (*[8]byte)(green), (*[8]byte)(blue)
		red, green, blue = red[8:], green[8:], blue[8:]
		binary.LittleEndian.PutUint16(r[0:], reds[p[0]])
		binary.LittleEndian.PutUint16(r[2:], reds[p[3]])
		binary.LittleEndian.PutUint16(r[4:], reds[p[6]])
		binary.LittleEndian.PutUint16(r[6:], reds[p[9]])
		binary.LittleEndian.PutUint16(g[0:], greens[p[1]])
		binary.LittleEndian.PutUint16(g[2:], greens[p[4]])
		binary.LittleEndian.PutUint16(g[4:], greens[p[7]])
		binary.LittleEndian.PutUint16(g[6:], greens[p[10]])
		binary.LittleEndian.PutUint16(b[0:], blues[p[2]])
		binary.LittleEndian.PutUint16(b[2:], blues[p[5]])
		binary.LittleEndian.PutUint16(b[4:], blues[p[8]])
		binary.LittleEndian.PutUint16(b[6:], blues[p[11]])
	}
	return pixels
}

// order is the sample that each channel shows, where pixels are side by side.
func (l *layout) order() (first, second, third int) {
	var samples [3]int
	for sample, at := range l.offsets {
		samples[at*3/l.step] = sample
	}
	return samples[0], samples[1], samples[2]
}

// floatPixels is writeFloats for pixels of three channels.
func (l *layout) floatPixels(rgb, out []byte) (pixels int) {
	first, second, third := l.order()
	firsts, seconds, thirds := &l.floats[first], &l.floats[second], &l.floats[third]
	for ; len(rgb) >= 3; pixels, rgb, out = pixels+1, rgb[3:], out[12:] {
		p, o := (*[3]byte)(rgb), (*[12]byte)(out)
		binary.LittleEndian.PutUint32(o[0:], firsts[p[first]])
		binary.LittleEndian.PutUint32(o[4:], seconds[p[second]])
		binary.LittleEndian.PutUint32(o[8:], thirds[p[third]])
	}
	return pixels
}

// halfPixels is writeHalves for pixels of three channels.
func (l *layout) halfPixels(rgb, out []byte) (pixels int) {
	first, second, third := l.order()
	firsts, seconds, thirds := &l.halves[first], &l.halves[second], &l.halves[third]
	for ; len(rgb) >= 3; pixels, rgb, out = pixels+1, rgb[3:], out[6:] {
		p, o := (*[3]byte)(rgb), (*[6]byte)(out)
		binary.LittleEndian.PutUint16(o[0:], firsts[p[first]])
		binary.LittleEndian.PutUint16(o[2:], seconds[p[second]])
		binary.LittleEndian.PutUint16(o[4:], thirds[p[third]])
	}
	return pixels
}

// writeFloats is what is left, of any layout.
func (l *layout) writeFloats(rgb, out []byte) {
	red, green, blue, step := l.offsets[0], l.offsets[1], l.offsets[2], l.step
	reds, greens, blues := &l.floats[0], &l.floats[1], &l.floats[2]
	for ; len(rgb) >= 3; rgb = rgb[3:] {
		p := (*[3]byte)(rgb)
		binary.LittleEndian.PutUint32(out[red:], reds[p[0]])
		binary.LittleEndian.PutUint32(out[green:], greens[p[1]])
		binary.LittleEndian.PutUint32(out[blue:], blues[p[2]])
		red, green, blue = red+step, green+step, blue+step
	}
}

// writeHalves is what is left, of any layout.
func (l *layout) writeHalves(rgb, out []byte) {
	red, green, blue, step := l.offsets[0], l.offsets[1], l.offsets[2], l.step
	reds, greens, blues := &l.halves[0], &l.halves[1], &l.halves[2]
	for ; len(rgb) >= 3; rgb = rgb[3:] {
		p := (*[3]byte)(rgb)
		binary.LittleEndian.PutUint16(out[red:], reds[p[0]])
		binary.LittleEndian.PutUint16(out[green:], greens[p[1]])
		binary.LittleEndian.PutUint16(out[blue:], blues[p[2]])
		red, green, blue = red+step, green+step, blue+step
	}
}

// writeBytes is for any layout.
func (l *layout) writeBytes(rgb, out []byte) {
	red, green, blue, step := l.offsets[0], l.offsets[1], l.offsets[2], l.step
	for ; len(rgb) >= 3; rgb = rgb[3:] {
		p := (*[3]byte)(rgb)
		out[red], out[green], out[blue] = p[0], p[1], p[2]
		red, green, blue = red+step, green+step, blue+step
	}
}
