package decode

import (
	"bytes"
	"encoding/binary"
)

// ifd is the first directory of a TIFF structure, which is also what EXIF data
// are. It never follows the link to a next directory, so it can't run in
// circles, and every offset is checked against the data.
type ifd struct {
	order   binary.ByteOrder
	data    []byte
	entries []byte
	// big is true for BigTIFF, whose counts and offsets have 8 bytes.
	big bool
}

// openIFD finds the first directory. A directory that is cut off keeps the
// entries that are there.
func openIFD(data []byte) (ifd, bool) {
	d := ifd{data: data}
	switch {
	case bytes.HasPrefix(data, []byte("II*\x00")):
		d.order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("MM\x00*")):
		d.order = binary.BigEndian
	case bytes.HasPrefix(data, []byte("II+\x00\x08\x00\x00\x00")):
		d.order, d.big = binary.LittleEndian, true
	case bytes.HasPrefix(data, []byte("MM\x00+\x00\x08\x00\x00")):
		d.order, d.big = binary.BigEndian, true
	default:
		return ifd{}, false
	}
	at, ok := d.word(data[min(len(data), d.wordSize()):])
	if !ok || at > uint64(len(data)) {
		return ifd{}, false
	}
	count, rest, ok := d.count(at)
	if !ok {
		return ifd{}, false
	}
	there := min(count, uint64(len(rest)/d.entrySize()))
	d.entries = rest[:int(there)*d.entrySize()]
	return d, true
}

// count reads how many entries the directory at an offset has, and gives what is
// behind that number.
func (d ifd) count(at uint64) (count uint64, rest []byte, ok bool) {
	size := 2
	if d.big {
		size = 8
	}
	if at > uint64(len(d.data)) || len(d.data[at:]) < size {
		return 0, nil, false
	}
	return number(d.order, d.data[at:], size), d.data[at:][size:], true
}

// next is where the directory behind the one at an offset begins, or 0.
func (d ifd) next(at uint64) uint64 {
	count, rest, ok := d.count(at)
	if !ok || count > uint64(len(rest)/d.entrySize()) {
		return 0
	}
	next, _ := d.word(rest[int(count)*d.entrySize():])
	return next
}

func (d ifd) wordSize() int {
	if d.big {
		return 8
	}
	return 4
}

// entrySize is that of a tag, a type, a count and a value.
func (d ifd) entrySize() int { return 4 + 2*d.wordSize() }

// word reads a count or an offset.
func (d ifd) word(b []byte) (uint64, bool) {
	if len(b) < d.wordSize() {
		return 0, false
	}
	return number(d.order, b, d.wordSize()), true
}

func number(order binary.ByteOrder, b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	default:
		return order.Uint64(b)
	}
}

// ifdField are the unsigned numbers of a tag.
type ifdField struct {
	order binary.ByteOrder
	data  []byte
	size  int
}

func (f ifdField) count() int {
	if f.size == 0 {
		return 0
	}
	return len(f.data) / f.size
}

// at is number i, which is below count.
func (f ifdField) at(i int) uint64 { return number(f.order, f.data[i*f.size:], f.size) }

func (d ifd) entry(tag uint16) []byte {
	for e, n := d.entries, d.entrySize(); len(e) >= n; e = e[n:] {
		if d.order.Uint16(e) == tag {
			return e[:n]
		}
	}
	return nil
}

// has tells whether the tag is there, readable or not.
func (d ifd) has(tag uint16) bool { return d.entry(tag) != nil }

// field reads a tag. One that is absent, of another type or out of bounds has
// no numbers.
func (d ifd) field(tag uint16) ifdField {
	e := d.entry(tag)
	if e == nil {
		return ifdField{}
	}
	size := map[uint16]int{1: 1, 3: 2, 4: 4, 7: 1, 16: 8}[d.order.Uint16(e[2:])]
	if size == 0 {
		return ifdField{}
	}
	count, _ := d.word(e[4:])
	inside := e[4+d.wordSize():]
	if count > uint64(len(d.data)/size) {
		return ifdField{}
	}
	length := count * uint64(size)
	if length > uint64(len(inside)) {
		at, _ := d.word(inside)
		if at > uint64(len(d.data)) || length > uint64(len(d.data))-at {
			return ifdField{}
		}
		inside = d.data[at:]
	}
	return ifdField{order: d.order, data: inside[:length], size: size}
}

// values are the numbers of a tag, at most as many as asked for.
func (d ifd) values(tag uint16, most int) []uint64 {
	f := d.field(tag)
	values := make([]uint64, min(f.count(), most))
	for i := range values {
		values[i] = f.at(i)
	}
	return values
}

// first is the first number of a tag, or the fallback.
func (d ifd) first(tag uint16, fallback uint64) uint64 {
	if f := d.field(tag); f.count() > 0 {
		return f.at(0)
	}
	return fallback
}
