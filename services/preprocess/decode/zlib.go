package decode

import "io"

// packets give packed data piece by piece, and io.EOF behind the last.
type packets interface{ next() ([]byte, error) }

// packet is packed data in one piece.
type packet struct{ data []byte }

func (p *packet) next() ([]byte, error) {
	data := p.data
	if p.data = nil; len(data) == 0 {
		return nil, io.EOF
	}
	return data, nil
}
