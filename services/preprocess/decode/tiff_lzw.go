package decode

import "io"

// lzw unpacks LZW as TIFF has it: codes of 9 to 12 bits, the highest bit first,
// one bit longer a code early. Files of very old writers have the lowest bit
// first and no early change; as libtiff, that is told by their first bytes.
type lzw struct {
	rest  []byte
	bits  uint64 // what has been read of rest and not used
	have  uint
	width uint
	next  int // the code that the next string gets
	last  int // the code before this one, or -1
	old   bool

	prefix [lzwCodes]uint16
	suffix [lzwCodes]byte
	first  [lzwCodes]byte
	length [lzwCodes]uint16

	buffer  [lzwCodes]byte
	pending []byte // of buffer: what did not fit into the row
}

const (
	lzwCodes = 1 << 12
	lzwClear = 256
	lzwEnd   = 257
	lzwFirst = 258
)

func newLZW() *lzw {
	u := new(lzw)
	for i := range lzwClear {
		u.suffix[i], u.first[i], u.length[i] = byte(i), byte(i), 1
	}
	return u
}

func (u *lzw) begin(packed []byte) error {
	u.rest, u.bits, u.have, u.pending = packed, 0, 0, nil
	u.old = len(packed) >= 2 && packed[0] == 0 && packed[1]&1 == 1
	u.clear()
	return nil
}

func (u *lzw) clear() { u.width, u.next, u.last = 9, lzwFirst, -1 }

func (u *lzw) read(row []byte) error {
	n := copy(row, u.pending)
	u.pending, row = u.pending[n:], row[n:]
	for len(row) > 0 {
		code, ok := u.code()
		switch {
		case !ok || code == lzwEnd:
			return io.ErrUnexpectedEOF
		case code == lzwClear:
			u.clear()
			continue
		}
		if err := u.learn(code); err != nil {
			return err
		}
		row = row[u.put(code, row):]
	}
	return nil
}

// code reads a code of the present width.
func (u *lzw) code() (int, bool) {
	for u.have < u.width {
		if len(u.rest) == 0 {
			return 0, false
		}
		if u.old {
			u.bits |= uint64(u.rest[0]) << u.have
		} else {
			u.bits = u.bits<<8 | uint64(u.rest[0])
		}
		u.rest, u.have = u.rest[1:], u.have+8
	}
	u.have -= u.width
	mask := uint64(1)<<u.width - 1
	if u.old {
		code := u.bits & mask
		u.bits >>= u.width
		return int(code), true
	}
	return int(u.bits >> u.have & mask), true
}

// learn makes the string of the last code and the first byte of this one a code
// of its own.
func (u *lzw) learn(code int) error {
	if u.last < 0 {
		if code >= lzwClear {
			return errPacked
		}
		u.last = code
		return nil
	}
	if code > u.next {
		return errPacked
	}
	if u.next < lzwCodes {
		from := code
		if code == u.next {
			from = u.last
		}
		u.prefix[u.next], u.suffix[u.next] = uint16(u.last), u.first[from]
		u.first[u.next], u.length[u.next] = u.first[u.last], u.length[u.last]+1
		u.next++
	}
	early := 1
	if u.old {
		early = 0
	}
	if u.next+early >= 1<<u.width && u.width < 12 {
		u.width++
	}
	u.last = code
	return nil
}

// put writes the string of a code, and keeps what has no room.
func (u *lzw) put(code int, row []byte) int {
	n := int(u.length[code])
	to := row
	if n > len(row) {
		to = u.buffer[:]
	}
	for i := n - 1; i >= 0; i-- {
		to[i] = u.suffix[code]
		code = int(u.prefix[code])
	}
	if n <= len(row) {
		return n
	}
	done := copy(row, u.buffer[:n])
	u.pending = u.buffer[done:n]
	return done
}
