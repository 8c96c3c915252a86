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
type zlibStream struct{ from io.ReadCloser }

// openZlib unpacks by Go's own library, for builds without C libraries.
func openZlib(from packets) (*zlibStream, error) {
	unpacked, err := zlib.NewReader(&bytewise{from: from})
	if err != nil {
		return nil, err
	}
	return &zlibStream{unpacked}, nil
}

// fill unpacks as many bytes as there is room for.
func (i *zlibStream) fill(to []byte) error {
	_, err := io.ReadFull(i.from, to)
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
	left []byte
}

func (b *bytewise) more() (err error) {
	for len(b.left) == 0 && err == nil {
		b.left, err = b.from.next()
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
