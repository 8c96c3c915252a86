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
}

const entrySize = 12

// openIFD finds the first directory. A directory that is cut off keeps the
// entries that are there.
func openIFD(data []byte) (ifd, bool) {
	d := ifd{data: data}
	switch {
	case bytes.HasPrefix(data, []byte("II*\x00")):
		d.order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("MM\x00*")):
		d.order = binary.BigEndian
	default:
		return ifd{}, false
	}
	if len(data) < 8 {
		return ifd{}, false
	}
	at := int64(d.order.Uint32(data[4:]))
	if at+2 > int64(len(data)) {
		return ifd{}, false
	}
	count := int64(d.order.Uint16(data[at:]))
	rest := data[at+2:]
	d.entries = rest[:min(count*entrySize, int64(len(rest)/entrySize*entrySize))]
	return d, true
}

// values reads the unsigned numbers of a tag, at most as many as asked for.
// A tag that is absent, of another type or out of bounds has none.
func (d ifd) values(tag uint16, most int) []uint32 {
	for e := d.entries; len(e) >= entrySize; e = e[entrySize:] {
		if d.order.Uint16(e) == tag {
			return d.entry(e[:entrySize], most)
		}
	}
	return nil
}

func (d ifd) entry(e []byte, most int) []uint32 {
	size := map[uint16]int64{1: 1, 3: 2, 4: 4}[d.order.Uint16(e[2:])]
	count := int64(d.order.Uint32(e[4:]))
	if size == 0 {
		return nil
	}
	field := e[8:]
	if count*size > int64(len(field)) {
		at := int64(d.order.Uint32(field))
		if at > int64(len(d.data)) || count*size > int64(len(d.data))-at {
			return nil
		}
		field = d.data[at:]
	}
	wanted := min(count, int64(most))
	values := make([]uint32, 0, wanted)
	for i := range wanted {
		values = append(values, d.number(field[i*size:], size))
	}
	return values
}

func (d ifd) number(field []byte, size int64) uint32 {
	switch size {
	case 1:
		return uint32(field[0])
	case 2:
		return uint32(d.order.Uint16(field))
	default:
		return d.order.Uint32(field)
	}
}

// has tells whether the tag is there, readable or not.
func (d ifd) has(tag uint16) bool {
	for e := d.entries; len(e) >= entrySize; e = e[entrySize:] {
		if d.order.Uint16(e) == tag {
			return true
		}
	}
	return false
}

// first is the first number of a tag, or the fallback.
func (d ifd) first(tag uint16, fallback uint32) uint32 {
	if v := d.values(tag, 1); len(v) > 0 {
		return v[0]
	}
	return fallback
}
