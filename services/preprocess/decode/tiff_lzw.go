package decode

import (
	"encoding/binary"
	"io"
)

// lzwRows unpacks LZW as TIFF has it: codes of 9 to 12 bits, the highest bit first,
// one bit longer a code early. Files of very old writers have the lowest bit
// first and no early change; as libtiff, that is told by their first bytes.
type lzwRows struct {
	work  *unpackWork
	rest  []byte
	bits  uint64 // what has been read of rest and not used
	have  uint
	width uint
	next  int // the code that the next string gets
	last  int // the code before this one, or -1
	old   bool
	early int

	strings [lzwCodes]lzwString

	buffer  [lzwCodes]byte
	pending []byte // of buffer: what did not fit into the row
}

const (
	lzwCodes = 1 << 12
	lzwClear = 256
	lzwEnd   = 257
	lzwFirst = 258
)

// lzwString is what a code stands for: another string and a byte.
type lzwString struct {
	prefix, length uint16
	suffix, first  byte
}

func newLZW(work *unpackWork) *lzwRows {
	u := &lzwRows{work: work}
	for i := range lzwClear {
		u.strings[i] = lzwString{length: 1, suffix: byte(i), first: byte(i)}
	}
	return u
}

func (u *lzwRows) begin(packed []byte) error {
	u.rest, u.bits, u.have, u.pending = packed, 0, 0, nil
	u.old = len(packed) >= 2 && packed[0] == 0 && packed[1]&1 == 1
	u.early = 1
	if u.old {
		u.early = 0
	}
	u.clear()
	return nil
}

func (u *lzwRows) clear() { u.width, u.next, u.last = 9, lzwFirst, -1 }

func (u *lzwRows) read(row []byte) error {
	if err := u.work.add(0, len(row), 0); err != nil {
		return err
	}
	n := copy(row, u.pending)
	u.pending, row = u.pending[n:], row[n:]
	for len(row) > 0 {
		if u.have < u.width && !u.refill() {
			return io.ErrUnexpectedEOF
		}
		code := u.code()
		switch {
		case code == lzwEnd:
			return io.ErrUnexpectedEOF
		case code == lzwClear:
			u.clear()
			if err := u.work.add(0, 0, 1); err != nil {
				return err
			}
			continue
		case u.last >= 0:
			if code > u.next {
				return errPacked
			}
			u.learn(code)
		case code > lzwClear:
			return errPacked
		}
		u.last = code
		if code < lzwClear {
			row[0] = byte(code)
			row = row[1:]
			continue
		}
		row = row[u.put(code, row):]
	}
	return nil
}

// refill reads bytes until there is a code.
func (u *lzwRows) refill() bool {
	if len(u.rest) >= 4 && !u.old {
		u.bits = u.bits<<32 | uint64(binary.BigEndian.Uint32(u.rest))
		u.rest, u.have = u.rest[4:], u.have+32
		return true
	}
	for u.have < u.width {
		if len(u.rest) == 0 {
			return false
		}
		if u.old {
			u.bits |= uint64(u.rest[0]) << u.have
		} else {
			u.bits = u.bits<<8 | uint64(u.rest[0])
		}
		u.rest, u.have = u.rest[1:], u.have+8
	}
	return true
}

// code takes a code of the present width.
func (u *lzwRows) code() int {
	u.have -= u.width
	if u.old {
		code := u.bits & (1<<u.width - 1)
		u.bits >>= u.width
		return int(code)
	}
	return int(u.bits >> u.have & (1<<u.width - 1))
}

// learn makes the string of the last code and the first byte of this one a code
// of its own.
func (u *lzwRows) learn(code int) {
	if u.next >= lzwCodes {
		return
	}
	last := &u.strings[u.last]
	suffix := last.first
	if code < u.next {
		suffix = u.strings[code].first
	}
	u.strings[u.next] = lzwString{prefix: uint16(u.last), length: last.length + 1, suffix: suffix, first: last.first}
	u.next++
	if u.next+u.early >= 1<<u.width && u.width < 12 {
		u.width++
	}
}

// put writes the string of a code, and keeps what has no room.
func (u *lzwRows) put(code int, row []byte) int {
	n := int(u.strings[code].length)
	to := row
	if n > len(row) {
		to = u.buffer[:]
	}
	at := uint16(code)
	for i := n - 1; i >= 0; i-- {
		s := &u.strings[at%lzwCodes]
		to[i], at = s.suffix, s.prefix
	}
	if n <= len(row) {
		return n
	}
	done := copy(row, u.buffer[:n])
	u.pending = u.buffer[done:n]
	return done
}
