package decode

import (
	"encoding/binary"
	"errors"
)

var errFilter = errors.New("png: unknown filter")

// unfilter turns a row, which begins with the number of its filter, into pixels.
// Above is the row above it. Step is the bytes of a pixel, at least 1.
func unfilter(filtered, above []byte, step int) error {
	row := filtered[1:]
	above = above[:len(row)]
	switch filtered[0] {
	case 0:
	case 1: // left
		for i := step; i < len(row); i++ {
			row[i] += row[i-step]
		}
	case 2: // above
		addBytes(row, above)
	case 3: // the mean of both
		for i := range min(step, len(row)) {
			row[i] += above[i] / 2
		}
		for i := step; i < len(row); i++ {
			row[i] += byte((int(row[i-step]) + int(above[i])) / 2)
		}
	case 4:
		switch step {
		case 3:
			paeth3(row, above)
		case 4:
			paeth4(row, above)
		default:
			paethAny(row, above, step)
		}
	default:
		return errFilter
	}
	return nil
}

// addBytes adds b to a, eight bytes at a time: the upper bits apart, so that
// nothing is carried into the next byte.
func addBytes(a, b []byte) {
	const low = 0x7f7f7f7f7f7f7f7f
	for ; len(a) >= 8 && len(b) >= 8; a, b = a[8:], b[8:] {
		x, y := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(a, (x&low+y&low)^(x^y)&^low)
	}
	for i := range min(len(a), len(b)) {
		a[i] += b[i]
	}
}

// paeth is whichever of left, above and corner is nearest to left + above - corner.
func paeth(left, above, corner int) int {
	fromLeft, fromAbove := above-corner, left-corner
	fromCorner := fromLeft + fromAbove
	fromLeft, fromAbove, fromCorner = absolute(fromLeft), absolute(fromAbove), absolute(fromCorner)
	best, nearest := corner, fromCorner
	if fromAbove <= nearest {
		best, nearest = above, fromAbove
	}
	if fromLeft <= nearest {
		best = left
	}
	return best
}

func absolute(v int) int {
	sign := v >> 63
	return (v ^ sign) - sign
}

func paethAny(row, above []byte, step int) {
	for i := range row {
		var left, corner int
		if i >= step {
			left, corner = int(row[i-step]), int(above[i-step])
		}
		row[i] += byte(paeth(left, int(above[i]), corner))
	}
}

// paeth3 is paethAny for RGB: the neighbours of three samples stay in registers.
func paeth3(row, above []byte) {
	var l0, l1, l2, c0, c1, c2 int
	for ; len(row) >= 3 && len(above) >= 3; row, above = row[3:], above[3:] {
		a0, a1, a2 := int(above[0]), int(above[1]), int(above[2])
		l0 = (int(row[0]) + paeth(l0, a0, c0)) & 255
		l1 = (int(row[1]) + paeth(l1, a1, c1)) & 255
		l2 = (int(row[2]) + paeth(l2, a2, c2)) & 255
		row[0], row[1], row[2] = byte(l0), byte(l1), byte(l2)
		c0, c1, c2 = a0, a1, a2
	}
}

// paeth4 is paethAny for RGBA.
func paeth4(row, above []byte) {
	var l0, l1, l2, l3, c0, c1, c2, c3 int
	for ; len(row) >= 4 && len(above) >= 4; row, above = row[4:], above[4:] {
		a0, a1, a2, a3 := int(above[0]), int(above[1]), int(above[2]), int(above[3])
		l0 = (int(row[0]) + paeth(l0, a0, c0)) & 255
		l1 = (int(row[1]) + paeth(l1, a1, c1)) & 255
		l2 = (int(row[2]) + paeth(l2, a2, c2)) & 255
		l3 = (int(row[3]) + paeth(l3, a3, c3)) & 255
		row[0], row[1], row[2], row[3] = byte(l0), byte(l1), byte(l2), byte(l3)
		c0, c1, c2, c3 = a0, a1, a2, a3
	}
}
