package decode

// A prefix code has symbols of up to 15 bits, as in Deflate. Those of up to 8 are
// looked up.
const (
	vp8lLongest = 15
	vp8lQuick   = 8
	// vp8lMostSymbols is the largest alphabet: green, lengths and a color cache.
	vp8lMostSymbols = 256 + 24 + 1<<vp8lMostCacheBits
)

// vp8lCode is a prefix code.
type vp8lCode struct {
	// quick holds a symbol and in its lowest 4 bits its length, by the next bits;
	// or vp8lSlow.
	quick [1 << vp8lQuick]uint16
	// counts are the numbers of symbols of each length.
	counts  [vp8lLongest + 1]int
	symbols [vp8lMostSymbols]uint16 // in the order of their codes
}

const vp8lSlow = 15

// build makes the code of these lengths, one for each symbol. As in libwebp it
// has to be complete, or of one symbol, which then takes no bits.
func (c *vp8lCode) build(lengths []byte) bool {
	c.counts = [vp8lLongest + 1]int{}
	for _, n := range lengths {
		c.counts[n]++
	}
	total := len(lengths) - c.counts[0]
	c.counts[0] = 0
	if total == 0 {
		return false
	}
	c.sort(lengths)
	if total == 1 {
		for i := range c.quick {
			c.quick[i] = c.symbols[0] << 4
		}
		return true
	}
	open := 1
	for _, n := range c.counts[1:] {
		if open = 2*open - n; open < 0 {
			return false
		}
	}
	if open > 0 {
		return false
	}
	c.fillQuick()
	return true
}

// sort brings the symbols into the order of their codes.
func (c *vp8lCode) sort(lengths []byte) {
	var at [vp8lLongest + 2]int
	for n, count := range c.counts {
		at[n+1] = at[n] + count
	}
	for symbol, n := range lengths {
		if n > 0 {
			c.symbols[at[n]] = uint16(symbol)
			at[n]++
		}
	}
}

func (c *vp8lCode) fillQuick() {
	for i := range c.quick {
		c.quick[i] = vp8lSlow
	}
	code, at := 0, 0
	for n := 1; n <= vp8lQuick; n++ {
		for range c.counts[n] {
			first := reversed(code, n)
			for i := first; i < len(c.quick); i += 1 << n {
				c.quick[i] = c.symbols[at]<<4 | uint16(n)
			}
			code++
			at++
		}
		code <<= 1
	}
}

// reversed is a code of n bits with its first bit last.
func reversed(code, n int) int {
	out := 0
	for range n {
		out = out<<1 | code&1
		code >>= 1
	}
	return out
}

// single tells that the code has one symbol only and takes no bits.
func (c *vp8lCode) single() bool { return c.quick[0]&vp8lSlow == 0 }

// next reads a symbol.
func (c *vp8lCode) next(b *vp8lBits) int {
	b.fill()
	found := c.quick[b.held%(1<<vp8lQuick)]
	if found&vp8lSlow != vp8lSlow {
		b.skip(uint(found & vp8lSlow))
		return int(found >> 4)
	}
	return c.long(b)
}

// long reads a symbol bit by bit.
func (c *vp8lCode) long(b *vp8lBits) int {
	code, first, at := 0, 0, 0
	for n := 1; n <= vp8lLongest; n++ {
		code = code<<1 | int(b.held>>(n-1)&1)
		count := c.counts[n]
		if code-first < count {
			b.skip(uint(n))
			return int(c.symbols[at+code-first])
		}
		at += count
		first = (first + count) << 1
	}
	return 0 // a complete code has no such bits
}
