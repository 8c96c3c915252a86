package tensor

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"triptych/shared/oip"
)

// The beginning of a file: the magic number and version 1.0 of the format, and
// what its header's end must be a multiple of
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
const (
	npyMagic = "\x93NUMPY\x01\x00"
	npyAlign = 64
)

// WriteNPY writes the tensor as numpy.load reads it, in C order.
func WriteNPY(w io.Writer, t oip.Tensor) error {
	if err := check(t); err != nil {
		return err
	}
	shape := make([]string, len(t.Shape))
	for i, d := range t.Shape {
		shape[i] = strconv.FormatInt(d, 10) + ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", types[t.Datatype].npy, strings.Join(shape, " "))
	const length = 2 // bytes that tell the header's length
	whole := len(npyMagic) + length + len(text) + 1
	text += strings.Repeat(" ", (npyAlign-whole%npyAlign)%npyAlign) + "\n"
	file := append([]byte(npyMagic), 0, 0)
	binary.LittleEndian.PutUint16(file[len(npyMagic):], uint16(len(text)))
	if _, err := w.Write(append(file, text...)); err != nil {
		return err
	}
	_, err := w.Write(t.Data)
	return err
}
