//go:build cgo && !portable

package decode

/*
#cgo pkg-config: zlib
#include <stdlib.h>
#include <zlib.h>

static z_stream *triptych_inflate_begin(void)
{
	z_stream *z = calloc(1, sizeof(*z));

	if (z != NULL && inflateInit(z) != Z_OK) {
		free(z);
		z = NULL;
	}
	return z;
}

// What is left of the input and of the room for output is told, and how many blocks
// have ended; nothing is kept.
static int triptych_inflate(z_stream *z, unsigned char *in, unsigned int *in_left,
                            unsigned char *out, unsigned int *out_left, unsigned int *blocks)
{
	const int at_block = 128;
	int status;

	z->next_in = in;
	z->avail_in = *in_left;
	z->next_out = out;
	z->avail_out = *out_left;
	do {
		status = inflate(z, Z_BLOCK);
		if (status == Z_OK && (z->data_type & at_block))
			++*blocks;
	} while (status == Z_OK && (z->data_type & at_block) && z->avail_out > 0);
	*in_left = z->avail_in;
	*out_left = z->avail_out;
	z->next_in = NULL;
	z->next_out = NULL;
	return status;
}

static void triptych_inflate_end(z_stream *z)
{
	inflateEnd(z);
	free(z);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"triptych/shared/failure"
)

// PNGDecoder names what decodes PNG in this build: our own code, on top of this.
const PNGDecoder = "zlib"

// zlibStream unpacks what zlib packed.
type zlibStream struct {
	z    *C.z_stream
	from packets
	left []byte // of the piece at hand
	work *unpackWork
	// ended tells that the packed data have been read to their end.
	ended bool
	// inLeft, outLeft and blocks are here so that a call allocates nothing.
	inLeft, outLeft, blocks C.uint
}

// openZlib unpacks by zlib, twice as fast as Go's own library, as long as the work
// allows it.
func openZlib(from packets, work *unpackWork) (*zlibStream, error) {
	z := C.triptych_inflate_begin()
	if z == nil {
		return nil, failure.New(failure.Internal, "there is not enough memory to decode the image")
	}
	return &zlibStream{z: z, from: from, work: work}, nil
}

var errDeflate = errors.New("zlib: corrupt data")

// fill unpacks as many bytes as there is room for.
func (i *zlibStream) fill(to []byte) error {
	for len(to) > 0 {
		if i.ended {
			return io.ErrUnexpectedEOF
		}
		n, err := i.step(to)
		if err != nil {
			return err
		}
		to = to[n:]
	}
	return nil
}

// step unpacks what the piece at hand holds, or the next one.
func (i *zlibStream) step(to []byte) (int, error) {
	if len(i.left) == 0 {
		piece, err := i.from.next()
		if err != nil {
			return 0, err
		}
		i.left = piece
	}
	const (
		mostIn  = 1 << 16 // some milliseconds, if blocks are empty
		mostOut = 1 << 30 // what zlib counts with has 32 bits
	)
	in, out := i.left[:min(len(i.left), mostIn)], to[:min(len(to), mostOut)]
	i.inLeft, i.outLeft, i.blocks = C.uint(len(in)), C.uint(len(out)), 0
	status := C.triptych_inflate(i.z,
		(*C.uchar)(unsafe.SliceData(in)), &i.inLeft, (*C.uchar)(unsafe.SliceData(out)), &i.outLeft, &i.blocks)
	i.left = i.left[len(in)-int(i.inLeft):]
	i.ended = status == C.Z_STREAM_END
	if status < 0 && status != C.Z_BUF_ERROR || status == C.Z_NEED_DICT {
		return 0, fmt.Errorf("%w: status %d", errDeflate, int(status))
	}
	n := len(out) - int(i.outLeft)
	return n, i.work.add(len(in)-int(i.inLeft), n, int(i.blocks))
}

// finish checks the sum that ends the data. It does not mind that they are cut
// off there, or that there are more of them.
func (i *zlibStream) finish() error {
	var more [1]byte
	var n int
	var err error
	for !i.ended && n == 0 && err == nil {
		n, err = i.step(more[:])
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (i *zlibStream) close() { C.triptych_inflate_end(i.z) }
