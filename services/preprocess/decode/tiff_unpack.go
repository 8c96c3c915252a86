package decode

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
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
		return newLZW()
	case tiffCCITT, tiffGroup3, tiffGroup4:
		const twoDimensional = 1
		return newFax(d.compression, d.blockWidth, d.dir.first(tagT4Options, 0)&twoDimensional != 0)
	default:
		return &deflated{in: watched{ctx: d.job.ctx}}
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

// deflated reads deflate data with a zlib header.
type deflated struct {
	in   watched
	zlib io.ReadCloser
}

func (u *deflated) begin(packed []byte) (err error) {
	u.in.Reset(packed)
	if u.zlib == nil {
		u.zlib, err = zlib.NewReader(&u.in)
		return err
	}
	return u.zlib.(zlib.Resetter).Reset(&u.in, nil)
}

func (u *deflated) read(row []byte) error {
	_, err := io.ReadFull(u.zlib, row)
	return err
}

// watched are bytes that end when the context does: a lot of deflate data may
// hold no pixel at all.
type watched struct {
	bytes.Reader
	ctx context.Context
}

// ReadByte looks at the context from time to time.
func (w *watched) ReadByte() (byte, error) {
	const often = 1 << 14
	if w.Len()%often == 0 {
		if err := w.ctx.Err(); err != nil {
			return 0, err
		}
	}
	return w.Reader.ReadByte()
}
