package decode

import (
	"errors"
	"fmt"
	"slices"

	"triptych/services/preprocess/pixels"
)

// colorTable are colors by index.
type colorTable struct {
	rgb   [256][pixels.Samples]byte
	known int
}

func (t *colorTable) add(r, g, b byte) {
	if t.known < len(t.rgb) {
		t.rgb[t.known] = [pixels.Samples]byte{r, g, b}
		t.known++
	}
}

// look turns every step-th index into RGB, as far as there is room. An index that
// the table does not have is no color at all.
func (t *colorTable) look(indices []byte, step int, to []byte) error {
	var most byte
	if step == 1 {
		indices = indices[:len(to)/pixels.Samples]
		for _, v := range indices {
			most = max(most, v)
			*(*[pixels.Samples]byte)(to) = t.rgb[v]
			to = to[pixels.Samples:]
		}
	} else {
		for at := 0; len(to) >= pixels.Samples; at, to = at+step, to[pixels.Samples:] {
			most = max(most, indices[at])
			*(*[pixels.Samples]byte)(to) = t.rgb[indices[at]]
		}
	}
	return t.check(most)
}

var errNoColor = errors.New("an index is beyond the palette")

func (t *colorTable) check(index byte) error {
	if int(index) >= t.known {
		return fmt.Errorf("%w: color %d of %d", errNoColor, index, t.known)
	}
	return nil
}

// noColor blames the file for an error of a table.
func noColor(err error, format Format) error {
	if err == nil {
		return nil
	}
	return broken(err, format, "corrupt: it has a pixel whose color is not in the palette")
}

// widened appends a byte for each sample of 1, 2 or 4 bits in a row, from a column
// on.
func widened(to, row []byte, bits, column, n int) []byte {
	perByte, mask := 8/bits, byte(1<<bits-1)
	for ; n > 0 && column%perByte != 0; column, n = column+1, n-1 {
		to = append(to, row[column/perByte]>>(8-bits*(column%perByte+1))&mask)
	}
	row = row[column/perByte:]
	to = slices.Grow(to, n)
	for ; n >= perByte; n, row = n-perByte, row[1:] {
		for v, left := row[0], 8-bits; left >= 0; left -= bits {
			to = append(to, v>>left&mask)
		}
	}
	for i := range n {
		to = append(to, row[0]>>(8-bits*(i+1))&mask)
	}
	return to
}
