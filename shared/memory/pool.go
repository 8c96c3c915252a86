// Package memory lends bytes by size class, so that steady traffic allocates
// nothing of a tensor's size. It never clears what it lends.
package memory

import (
	"math/bits"
	"sync"
)

// Pool lends memory. What nobody borrows is left to the garbage collector. The
// zero Pool is ready; it is safe for concurrent use.
type Pool struct {
	classes [classes]sync.Pool
}

// A class is a quarter of a doubling, so that at most a fifth of what is lent is
// not needed.
const (
	quarters   = 4
	smallestLg = 8 // memory below 256 bytes is rounded up to that
	classes    = (63-smallestLg)*quarters + 1
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

// Get lends n bytes, whose contents are whatever was there.
func (p *Pool) Get(n int) *[]byte {
	index, size := class(n)
	data, ok := p.classes[index].Get().(*[]byte)
	if !ok {
		fresh := make([]byte, size)
		data = &fresh
	}
	*data = (*data)[:n]
	return data
}

// Put takes back what Get lent, when nobody looks at it any more. Memory of any
// other capacity than Get's is left to the garbage collector.
func (p *Pool) Put(data *[]byte) {
	if index, size := class(cap(*data)); size == cap(*data) {
		p.classes[index].Put(data)
	}
}
