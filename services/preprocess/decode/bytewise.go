package decode

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

// ReadByte implements io.ByteReader, without which Go's libraries would read ahead.
func (b *bytewise) ReadByte() (byte, error) {
	if err := b.more(); err != nil {
		return 0, err
	}
	v := b.left[0]
	b.left = b.left[1:]
	return v, nil
}
