//go:build !cgo || portable

package decode

import (
	"compress/zlib"
	"errors"
	"io"
)

// PNGDecoder names what decodes PNG in this build: our own code, on top of this.
const PNGDecoder = "compress/zlib"

// zlibStream unpacks what zlib packed.
type zlibStream struct {
	from io.ReadCloser
	work *unpackWork
}

// openZlib unpacks by Go's own library, for builds without C libraries, as long as
// the work allows it. Blocks are not counted, only the bytes of them.
func openZlib(from packets, work *unpackWork) (*zlibStream, error) {
	unpacked, err := zlib.NewReader(&bytewise{from: from, work: work})
	if err != nil {
		return nil, err
	}
	return &zlibStream{unpacked, work}, nil
}

// fill unpacks as many bytes as there is room for.
func (i *zlibStream) fill(to []byte) error {
	n, err := io.ReadFull(i.from, to)
	if err == nil {
		err = i.work.add(0, n, 0)
	}
	return err
}

// finish checks the sum that ends the data. It does not mind that they are cut
// off there, or that there are more of them.
func (i *zlibStream) finish() error {
	if _, err := i.from.Read(make([]byte, 1)); errors.Is(err, zlib.ErrChecksum) {
		return err
	}
	return nil
}

func (i *zlibStream) close() { _ = i.from.Close() } // it fails as fill did

// bytewise reads pieces as a stream.
type bytewise struct {
	from packets
	work *unpackWork
	left []byte // of the part at hand
	rest []byte // of the piece
}

// more counts a part of a piece as it is begun.
func (b *bytewise) more() (err error) {
	const part = 1 << 16
	for len(b.rest) == 0 && len(b.left) == 0 && err == nil {
		b.rest, err = b.from.next()
	}
	if len(b.left) == 0 && err == nil {
		n := min(part, len(b.rest))
		b.left, b.rest = b.rest[:n], b.rest[n:]
		err = b.work.add(n, 0, 0)
	}
	return err
}

// Read implements io.Reader.
func (b *bytewise) Read(to []byte) (int, error) {
	if err := b.more(); err != nil {
		return 0, err
	}
	n := copy(to, b.left)
	b.left = b.left[n:]
	return n, nil
}

// ReadByte implements io.ByteReader, without which the library would read ahead.
func (b *bytewise) ReadByte() (byte, error) {
	if err := b.more(); err != nil {
		return 0, err
	}
	v := b.left[0]
	b.left = b.left[1:]
	return v, nil
}
