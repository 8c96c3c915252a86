package board

// bits is one bit for each item of a job; nil has none set.
type bits []uint64

const word = 64

func newBits(items uint32) bits { return make(bits, (items+word-1)/word) }

func (b bits) has(i uint32) bool {
	return int(i/word) < len(b) && b[i/word]&(1<<(i%word)) != 0
}

func (b bits) set(i uint32) { b[i/word] |= 1 << (i % word) }

// clear takes a bit away; there may be no bits.
func (b bits) clear(i uint32) {
	if int(i/word) < len(b) {
		b[i/word] &^= 1 << (i % word)
	}
}

func (b bits) fill() {
	for i := range b {
		b[i] = ^uint64(0)
	}
}
