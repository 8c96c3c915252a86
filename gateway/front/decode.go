package front

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"

	"triptych/shared/failure"
)

// decoder decompresses a body. It begins with the first read.
type decoder struct {
	encoding string
	source   io.Reader
	decoded  io.Reader
}

// Read gives decompressed bytes; what is not well formed is Invalid.
func (d *decoder) Read(p []byte) (int, error) {
	if d.decoded == nil {
		decoded, err := d.open()
		if err != nil {
			return 0, d.wrong(err)
		}
		d.decoded = decoded
	}
	n, err := d.decoded.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, d.wrong(err)
}

func (d *decoder) open() (io.Reader, error) {
	if d.encoding == "gzip" {
		return gzip.NewReader(d.source)
	}
	// "deflate" is zlib by the standard, but some clients leave its frame out.
	buffered := bufio.NewReader(d.source)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}

// wrong keeps what the connection said and calls the rest by its name.
func (d *decoder) wrong(err error) error {
	var known *failure.Error
	if errors.As(err, &known) {
		return err
	}
	return failure.Wrap(err, failure.Invalid, "the body is not valid %s", d.encoding)
}
