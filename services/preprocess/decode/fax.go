package decode

import (
	"io"
	"math/bits"
)

// fax unpacks pages of fax machines: ITU-T T.4 (group 3, in one dimension or in
// two) and T.6 (group 4). A white pixel is 0.
type fax struct {
	kind                uint64
	flat                bool // rows stand for themselves, in group 3
	width               int
	data                []byte
	at                  int // the next bit
	above, row          []int32
	white, black, modes *faxTable
}

func newFax(kind uint64, width int, twoDimensional bool) *fax {
	return &fax{
		kind: kind, width: width, flat: kind == tiffCCITT || kind == tiffGroup3 && !twoDimensional,
		white: newFaxTable(faxWhite, faxRun), black: newFaxTable(faxBlack, faxRun), modes: newFaxTable(faxModes, faxMode),
	}
}

func (u *fax) begin(packed []byte) error {
	u.data, u.at, u.above = packed, 0, u.above[:0] // white
	return nil
}

func (u *fax) read(row []byte) error {
	flat := u.flat
	switch u.kind {
	case tiffCCITT:
		u.at = (u.at + 7) / 8 * 8
	case tiffGroup3:
		if tag := u.endOfLine(); !u.flat {
			flat = tag == 1
		}
	}
	u.row = u.row[:0]
	var err error
	if flat {
		err = u.flatRow()
	} else {
		err = u.relativeRow()
	}
	if err != nil {
		return err
	}
	u.paint(row)
	u.above, u.row = u.row, u.above
	return nil
}

// endOfLine skips the codes that part rows, if there are any, and returns the
// bit behind them that says how the row is written.
func (u *fax) endOfLine() (tag int) {
	const zeros = 11
	for u.at < 8*len(u.data) && u.peek(zeros) == 0 {
		for i := u.at / 8; ; i++ {
			if i >= len(u.data) {
				u.at = 8 * len(u.data)
				return 0
			}
			b := u.data[i]
			if i == u.at/8 {
				b &= 0xff >> (u.at % 8)
			}
			if b != 0 {
				u.at = 8*i + bits.LeadingZeros8(b) + 1
				break
			}
		}
		if !u.flat {
			tag = int(u.peek(1))
			u.at++
		}
	}
	return tag
}

// peek is the next n bits, at most 16. Zeros follow the end.
func (u *fax) peek(n int) uint32 {
	var v uint32
	for i := u.at / 8; i < u.at/8+3; i++ {
		v <<= 8
		if i < len(u.data) {
			v |= uint32(u.data[i])
		}
	}
	return v >> (24 - u.at%8 - n) & (1<<n - 1)
}

// code reads a code of a table.
func (u *fax) code(t *faxTable) (int, error) {
	entry := t[u.peek(faxLongest)]
	u.at += int(entry % 16)
	switch {
	case u.at > 8*len(u.data) || entry == 0 && u.at+faxLongest > 8*len(u.data):
		return 0, io.ErrUnexpectedEOF
	case entry == 0:
		return 0, errPacked
	}
	return int(entry / 16), nil
}

// run reads the length of a run: codes of whole 64 pixels, and one of less.
func (u *fax) run(black bool) (int, error) {
	table := u.white
	if black {
		table = u.black
	}
	for total := 0; ; {
		n, err := u.code(table)
		if err != nil {
			return 0, err
		}
		total += n
		if n < 64 {
			return total, nil
		}
		if total > u.width {
			return 0, errPacked
		}
	}
}

// change notes where the color of the row changes.
func (u *fax) change(at int) error {
	if at > u.width || len(u.row) > 2*u.width+2 {
		return errPacked
	}
	u.row = append(u.row, int32(at))
	return nil
}

// flatRow reads runs up to the end of the row.
func (u *fax) flatRow() error {
	for at, black := 0, false; at < u.width; black = !black {
		n, err := u.run(black)
		if err != nil {
			return err
		}
		at += n
		if err := u.change(at); err != nil {
			return err
		}
	}
	return nil
}

// relativeRow reads a row that says how it differs from the one above.
func (u *fax) relativeRow() error {
	black := false
	for at, k := -1, 0; at < u.width; {
		mode, err := u.code(u.modes)
		if err != nil {
			return err
		}
		k = u.next(k, at, black)
		switch mode {
		case faxPass:
			at = u.changeAbove(k + 1)
		case faxHorizontal:
			at, err = u.twoRuns(max(at, 0), black)
		default:
			to := u.changeAbove(k) + mode - faxVertical0
			if mode >= faxLeft1 {
				to = u.changeAbove(k) - (mode - faxLeft1 + 1)
			}
			if to < max(at, 0) {
				return errPacked
			}
			at, black = to, !black
			err = u.change(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *fax) twoRuns(at int, black bool) (int, error) {
	for range 2 {
		n, err := u.run(black)
		if err != nil {
			return 0, err
		}
		at, black = at+n, !black
		if err := u.change(at); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// next is the first change in the row above that is right of a place, to the
// color that the place does not have. It is near the one before.
func (u *fax) next(k, at int, black bool) int {
	if k%2 == 1 != black {
		k++
	}
	for k >= 2 && u.changeAbove(k-2) > at {
		k -= 2
	}
	for k < len(u.above) && int(u.above[k]) <= at {
		k += 2
	}
	return k
}

func (u *fax) changeAbove(k int) int {
	if k < len(u.above) {
		return int(u.above[k])
	}
	return u.width
}

// paint sets the bits of the black runs.
func (u *fax) paint(row []byte) {
	clear(row)
	for k := 0; k < len(u.row); k += 2 {
		from, to := int(u.row[k]), u.width
		if k+1 < len(u.row) {
			to = int(u.row[k+1])
		}
		for ; from < to && from%8 != 0; from++ {
			row[from/8] |= 0x80 >> (from % 8)
		}
		for ; from+8 <= to; from += 8 {
			row[from/8] = 0xff
		}
		for ; from < to; from++ {
			row[from/8] |= 0x80 >> (from % 8)
		}
	}
}
