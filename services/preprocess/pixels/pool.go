package pixels

import (
	"image"

	"triptych/shared/memory"
)

// Pool lends the memory of pictures, which nobody clears. The zero Pool is ready;
// it is safe for concurrent use.
type Pool struct {
	memory memory.Pool
}

// Bytes lends n bytes, whose contents are whatever was there. Give is called
// once, when nobody looks at them any more.
func (p *Pool) Bytes(n int) (data []byte, give func()) {
	lent := p.memory.Get(n)
	return (*lent)[:n:n], func() { p.memory.Put(lent) }
}

// Image lends a picture of the given size that holds only the part of it in
// bounds. The contents are whatever was there.
func (p *Pool) Image(size image.Point, bounds image.Rectangle) *Image {
	n := Samples * bounds.Dx() * bounds.Dy()
	lent := p.memory.Get(n)
	return &Image{Pix: (*lent)[:n:n], Bounds: bounds, Size: size, lent: lent, pool: p}
}

// Whole lends a whole picture.
func (p *Pool) Whole(width, height int) *Image {
	return p.Image(image.Pt(width, height), image.Rect(0, 0, width, height))
}
