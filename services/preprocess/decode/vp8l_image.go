package decode

import "image"

// image reads through an image in the head. Where groups are looked for, their
// numbers are the green and red of its pixels. Copies of pixels bring no new ones,
// so no pixel has to be kept. The color cache brings only one: zero, from where
// nothing has been put into it.
func (r *vp8lReader) image(size image.Point, groups *vp8lGroups) bool {
	pixels := size.X * size.Y
	r.head.pixels += int64(pixels)
	if !r.cache() || !r.readCodes() {
		return false
	}
	if r.constant() {
		pixels = 1
	}
	for at := 0; at < pixels && r.left >= 0; {
		green := r.codes[0].next(&r.vp8lBits)
		switch {
		case green < 256:
			group := green | r.codes[1].next(&r.vp8lBits)<<8
			r.codes[2].next(&r.vp8lBits)
			r.codes[3].next(&r.vp8lBits)
			groups.see(group)
			at++
		case green < 256+24:
			n := r.prefixed(green - 256)
			r.prefixed(r.codes[4].next(&r.vp8lBits)) // from where
			if at == 0 || n > pixels-at {
				return false
			}
			at += n
		default:
			groups.see(0)
			at++
		}
	}
	return r.left >= 0
}

// see is add for those who look for groups.
func (g *vp8lGroups) see(group int) {
	if g != nil {
		g.add(group)
	}
}

// constant tells that all pixels are the same, and take no bits.
func (r *vp8lReader) constant() bool {
	c := &r.codes
	return c[0].single() && c[0].symbols[0] < 256 && c[1].single() && c[2].single() && c[3].single()
}

// prefixed reads a length or a distance, whose extra bits follow its symbol.
func (r *vp8lReader) prefixed(symbol int) int {
	if symbol < 4 {
		return symbol + 1
	}
	extra := uint(symbol-2) >> 1
	return (2+symbol&1)<<extra + r.read(extra) + 1
}

// cache reads how large the color cache of an image is.
func (r *vp8lReader) cache() bool {
	r.head.cacheBits = 0
	if !r.flag() {
		return true
	}
	r.head.cacheBits = r.read(4)
	return r.head.cacheBits >= 1 && r.head.cacheBits <= vp8lMostCacheBits
}

// readCodes reads the codes of an image that has one group of them.
func (r *vp8lReader) readCodes() bool {
	green := 256 + 24
	if r.head.cacheBits > 0 {
		green += 1 << r.head.cacheBits
	}
	for i, symbols := range [...]int{green, 256, 256, 256, 40} {
		if !r.readCode(&r.codes[i], symbols) {
			return false
		}
	}
	return true
}

func (r *vp8lReader) readCode(c *vp8lCode, symbols int) bool {
	clear(r.lengths[:])
	if r.flag() {
		two := r.flag()
		r.lengths[r.read(1+7*uint(r.read(1)))] = 1
		if two {
			r.lengths[r.read(8)] = 1
		}
	} else if !r.readLengths(c, r.lengths[:symbols]) {
		return false
	}
	return r.left >= 0 && c.build(r.lengths[:symbols])
}

// vp8lLengthOrder is in which order the lengths of the codes of lengths stand.
var vp8lLengthOrder = [...]byte{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// readLengths reads the lengths of a code, which are coded with the room of that
// code. The last ones may be left out.
func (r *vp8lReader) readLengths(c *vp8lCode, lengths []byte) bool {
	var own [len(vp8lLengthOrder)]byte
	n := 4 + r.read(4)
	for _, symbol := range vp8lLengthOrder[:n] {
		own[symbol] = byte(r.read(3))
	}
	if !c.build(own[:]) {
		return false
	}
	read := len(lengths)
	if r.flag() {
		if read = 2 + r.read(2+2*uint(r.read(3))); read > len(lengths) {
			return false
		}
	}
	last := byte(8)
	for at := 0; read > 0 && at < len(lengths); read-- {
		symbol := c.next(&r.vp8lBits)
		if symbol < 16 {
			lengths[at] = byte(symbol)
			if symbol > 0 {
				last = byte(symbol)
			}
			at++
			continue
		}
		n, value := r.repeated(symbol, last)
		if n > len(lengths)-at {
			return false
		}
		for i := range n {
			lengths[at+i] = value
		}
		at += n
	}
	return true
}

// repeated is how often which length comes: the last one, or none.
func (r *vp8lReader) repeated(symbol int, last byte) (n int, length byte) {
	switch symbol {
	case 16:
		return 3 + r.read(2), last
	case 17:
		return 3 + r.read(3), 0
	default:
		return 11 + r.read(7), 0
	}
}
