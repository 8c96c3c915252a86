package decode

import (
	"errors"
	"io"

	"triptych/shared/failure"
)

var (
	errOverlap = errors.New("tiff: the blocks overlap too much")
	errPacked  = errors.New("tiff: the packed data are corrupt")
)

// unpacker reads a block a row at a time, so that there is never more of it
// unpacked than a row, however much it may say that it holds.
type unpacker interface {
	// begin takes a block. What is left of the one before is forgotten.
	begin(packed []byte) error
	// read fills the row.
	read(row []byte) error
}

func (d *tiffDecode) unpacker() unpacker {
	switch d.compression {
	case tiffNone:
		return new(plainBytes)
	case tiffPackBits:
		return new(packBits)
	case tiffLZW:
		return newLZW(&d.work)
	case tiffCCITT, tiffGroup3, tiffGroup4:
		const twoDimensional = 1
		return newFax(d.compression, d.blockWidth, d.dir.first(tagT4Options, 0)&twoDimensional != 0)
	default:
		return &deflated{work: &d.work}
	}
}

// plainBytes are not packed.
type plainBytes struct{ rest []byte }

func (u *plainBytes) begin(packed []byte) error {
	u.rest = packed
	return nil
}

func (u *plainBytes) read(row []byte) error {
	n := copy(row, u.rest)
	u.rest = u.rest[n:]
	if n < len(row) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// packBits are runs and literals, which may go on in the next row.
type packBits struct {
	rest   []byte
	left   int // what is left of the run or the literal
	repeat bool
}

func (u *packBits) begin(packed []byte) error {
	*u = packBits{rest: packed}
	return nil
}

func (u *packBits) read(row []byte) error {
	for len(row) > 0 {
		if u.left == 0 {
			if err := u.code(); err != nil {
				return err
			}
			continue
		}
		n := min(u.left, len(row))
		if u.repeat {
			for i := range row[:n] {
				row[i] = u.rest[0]
			}
		} else if n = copy(row[:n], u.rest); n == 0 {
			return io.ErrUnexpectedEOF
		}
		if u.left -= n; !u.repeat {
			u.rest = u.rest[n:]
		} else if u.left == 0 {
			u.rest = u.rest[1:]
		}
		row = row[n:]
	}
	return nil
}

// code reads the length of what follows.
func (u *packBits) code() error {
	if len(u.rest) < 2 {
		return io.ErrUnexpectedEOF
	}
	n := int(int8(u.rest[0]))
	u.rest = u.rest[1:]
	switch {
	case n >= 0:
		u.left, u.repeat = n+1, false
	case n > -128: // -128 means nothing
		u.left, u.repeat = 1-n, true
	}
	return nil
}

// deflated reads deflate data with a zlib header. A lot of them may hold no pixel
// at all, so they come in pieces and end when the context does.
type deflated struct {
	work   *unpackWork
	packed []byte
	zlib   *zlibStream
}

func (u *deflated) begin(packed []byte) (err error) {
	u.close()
	u.packed = packed
	u.zlib, err = openZlib(u, u.work)
	return err
}

func (u *deflated) read(row []byte) error { return u.zlib.fill(row) }

// next implements packets.
func (u *deflated) next() ([]byte, error) {
	const piece = 1 << 14
	if err := failure.OfContext(u.work.ctx); err != nil {
		return nil, err
	}
	n := min(piece, len(u.packed))
	if n == 0 {
		return nil, io.EOF
	}
	data := u.packed[:n]
	u.packed = u.packed[n:]
	return data, nil
}

// close frees what the C library holds.
func (u *deflated) close() {
	if u.zlib != nil {
		u.zlib.close()
		u.zlib = nil
	}
}
