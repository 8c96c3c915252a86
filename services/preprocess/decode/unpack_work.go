package decode

import (
	"context"
	"errors"

	"triptych/shared/failure"
)

// unpackWork bounds what it takes to unpack the data of one image, in however many
// pieces they lie. A block of deflate brings its own codes, which take longer to set
// up than a hundred bytes to unpack, and need not hold any byte: a file of 32 MB can
// have three million such blocks. Of LZW, a code that clears the strings begins one.
type unpackWork struct {
	// ctx ends the work, nil for never.
	ctx             context.Context
	in, out, blocks int64
}

// An image has floor blocks, and one more for so many bytes that come out. Writers
// end a block after some kilobytes; some do so after each row.
const (
	blocksFloor   = 1 << 16
	bytesPerBlock = 256
	// leastBlock is what a block without bytes has at least, if it brings codes.
	leastBlock = 11
)

var errEmptyBlocks = errors.New("deflate: too many blocks for what they hold")

// add counts what has been unpacked.
func (w *unpackWork) add(in, out, blocks int) error {
	w.in, w.out, w.blocks = w.in+int64(in), w.out+int64(out), w.blocks+int64(blocks)
	if w.blocks > blocksFloor+w.out/bytesPerBlock || w.in > leastBlock*blocksFloor+2*w.out {
		return errEmptyBlocks
	}
	if blocks > 0 && w.ctx != nil {
		return failure.OfContext(w.ctx)
	}
	return nil
}
