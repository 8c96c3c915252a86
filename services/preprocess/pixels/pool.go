package pixels

import (
	"image"
	"math/bits"
	"sync"
)

// Pool lends memory by size class, so that steady traffic allocates nothing of a
// picture's size. What nobody borrows is left to the garbage collector. The zero
// Pool is ready; it is safe for concurrent use.
type Pool struct {
	classes [maxClass]sync.Pool
}

// A class is a quarter of a doubling, so that at most a fifth of what is lent is
// not needed.
const (
	quarters   = 4
	smallestLg = 12 // memory below 4 KiB is rounded up to that
	maxClass   = (63 - smallestLg) * quarters
)

// class is the smallest class with room for n bytes, and how many it has.
func class(n int) (index, size int) {
	if n <= 1<<smallestLg {
		return 0, 1 << smallestLg
	}
	lg := bits.Len(uint(n-1)) - 1 // 2^lg < n <= 2^(lg+1)
	step := 1 << lg / quarters
	over := (n - 1<<lg + step - 1) / step // 1 to 4
	return (lg-smallestLg)*quarters + over, 1<<lg + over*step
}

// Bytes lends n bytes, whose contents are whatever was there. Give is called
// once, when nobody looks at them any more.
func (p *Pool) Bytes(n int) (data []byte, give func()) {
	lent := p.get(n)
	return (*lent)[:n:n], func() { p.put(lent) }
}

// Image lends a picture of the given size that holds only the part of it in
// bounds. The contents are whatever was there.
func (p *Pool) Image(size image.Point, bounds image.Rectangle) *Image {
	n := Samples * bounds.Dx() * bounds.Dy()
	lent := p.get(n)
	return &Image{Pix: (*lent)[:n:n], Bounds: bounds, Size: size, lent: lent, pool: p}
}

// Whole lends a whole picture.
func (p *Pool) Whole(width, height int) *Image {
	return p.Image(image.Pt(width, height), image.Rect(0, 0, width, height))
}

func (p *Pool) get(n int) *[]byte {
	index, size := class(n)
	if lent, ok := p.classes[index].Get().(*[]byte); ok {
		return lent
	}
	data := make([]byte, size)
	return &data
}

func (p *Pool) put(lent *[]byte) {
	index, _ := class(len(*lent))
	p.classes[index].Put(lent)
}
