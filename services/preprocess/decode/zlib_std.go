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
	unpacked, err := zlib.NewReader(&bytewise{from: &counted{from: from, work: work}})
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

// counted gives pieces in parts, each of which is counted when it is begun.
type counted struct {
	from packets
	work *unpackWork
	rest []byte // of the piece at hand
}

// next implements packets.
func (c *counted) next() ([]byte, error) {
	const part = 1 << 16
	for len(c.rest) == 0 {
		var err error
		if c.rest, err = c.from.next(); err != nil {
			return nil, err
		}
	}
	data := c.rest[:min(part, len(c.rest))]
	c.rest = c.rest[len(data):]
	return data, c.work.add(len(data), 0, 0)
}
