package decode

import "triptych/services/preprocess/pixels"

// predict undoes the differences to the pixel on the left.
func (d *tiffDecode) predict(row []byte) {
	if !d.predicts() || d.predictor != 2 {
		return
	}
	step := d.samples
	if d.apart {
		step = 1
	}
	if d.bits == 8 {
		for i := step; i < len(row); i++ {
			row[i] += row[i-step]
		}
		return
	}
	for i := 2 * step; i+1 < len(row); i += 2 {
		d.dir.order.PutUint16(row[i:], d.dir.order.Uint16(row[i:])+d.dir.order.Uint16(row[i-2*step:]))
	}
}

// tiffStrand are the upper bytes of one sample in a row.
type tiffStrand struct {
	row  []byte
	step int
}

// strand is a sample of the row, from a column on.
func (d *tiffDecode) strand(wanted, column, n int) tiffStrand {
	plane, at, step := 0, d.wanted[wanted], d.samples
	if d.apart {
		plane, at, step = wanted, 0, 1
	}
	row := d.rows[plane].bytes
	if d.bits < 8 {
		return tiffStrand{d.widen(plane, row, column, n), 1}
	}
	at += column * step
	if d.bits == 16 {
		at, step = 2*at, 2*step
		if number(d.dir.order, []byte{0, 1}, 2) == 1<<8 {
			at++ // the lower byte comes first
		}
	}
	return tiffStrand{row[at:], step}
}

// widen makes a byte of each sample. Greys are spread over the whole range.
func (d *tiffDecode) widen(plane int, row []byte, column, n int) []byte {
	to := widened(d.wide[plane].of(d.job.pool, n)[:0], row, d.bits, column, n)
	if d.photometric != tiffPalette {
		scale := 0xff / byte(1<<d.bits-1)
		for i := range to {
			to[i] *= scale
		}
	}
	return to
}

// convert turns the row into RGB, from a column on and as far as there is room.
func (d *tiffDecode) convert(column int, to []byte) error {
	n := len(to) / pixels.Samples
	switch d.photometric {
	case tiffRGB:
		if d.bits == 8 && d.samples == pixels.Samples && !d.apart {
			copy(to, d.rows[0].bytes[pixels.Samples*column:])
			break
		}
		for c := range pixels.Samples {
			s := d.strand(c, column, n)
			for i := range n {
				to[pixels.Samples*i+c] = s.row[i*s.step]
			}
		}
	case tiffCMYK:
		d.inks(column, to)
	case tiffPalette:
		indices := d.strand(0, column, n)
		if err := d.palette.look(indices.row, indices.step, to); err != nil {
			return noColor(err, TIFF)
		}
	default:
		d.grey(d.strand(0, column, n), to)
	}
	if len(d.wanted) > d.colors {
		d.applyAlpha(d.strand(d.colors, column, n), to)
	}
	return nil
}

func (d *tiffDecode) grey(s tiffStrand, to []byte) {
	var inverted byte
	if d.photometric == tiffWhiteIsZero {
		inverted = 0xff
	}
	for i, at := 0, 0; i+2 < len(to); i, at = i+pixels.Samples, at+s.step {
		v := s.row[at] ^ inverted
		to[i], to[i+1], to[i+2] = v, v, v
	}
}

// inks turns CMYK into RGB as Pillow does.
func (d *tiffDecode) inks(column int, to []byte) {
	n := len(to) / pixels.Samples
	key := d.strand(pixels.Samples, column, n)
	for c := range pixels.Samples {
		ink := d.strand(c, column, n)
		for i := range n {
			light := 0xff - uint(key.row[i*key.step])
			v := uint(ink.row[i*ink.step])*light + 128
			to[pixels.Samples*i+c] = byte(light - (v>>8+v)>>8)
		}
	}
}

// applyAlpha takes the color out of what has been multiplied by the alpha, and
// lays it over the background where there is one.
func (d *tiffDecode) applyAlpha(alpha tiffStrand, to []byte) {
	n := len(to) / pixels.Samples
	rgba := d.rgba.of(d.job.pool, 4*n)
	for i := range n {
		a := alpha.row[i*alpha.step]
		from, pixel := to[pixels.Samples*i:][:pixels.Samples], rgba[4*i:][:4]
		copy(pixel, from)
		pixel[3] = a
		if d.premultiplied && a != 0xff {
			for c, v := range from {
				pixel[c] = straightened(v, a)
			}
		}
	}
	d.job.opts.Background.flatten(rgba, to)
}

// straightened is v/alpha, as Pillow has it.
func straightened(v, alpha byte) byte {
	if alpha == 0 {
		return 0
	}
	return byte(min(int(v)*0xff/int(alpha), 0xff))
}
