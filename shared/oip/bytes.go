package oip

import (
	"encoding/binary"
	"math"

	"triptych/shared/failure"
)

// lengthPrefix is the size of what stands before each BYTES element: its length
// as a little-endian uint32.
const lengthPrefix = 4

// Strings splits the data of a BYTES tensor into its count elements, which are
// slices of data. Every length is checked against what is left before anything
// is allocated for it.
func Strings(data []byte, count int64) ([][]byte, error) {
	if count < 0 || count > int64(len(data)/lengthPrefix) {
		return nil, failure.New(failure.Invalid, "%d BYTES elements need at least %d bytes each, but only %d bytes were sent", count, lengthPrefix, len(data))
	}
	elements := make([][]byte, 0, count)
	rest := data
	for i := int64(0); i < count; i++ {
		if len(rest) < lengthPrefix {
			return nil, failure.New(failure.Invalid, "BYTES element %d of %d has no length: %d bytes are left", i, count, len(rest))
		}
		n := uint64(binary.LittleEndian.Uint32(rest))
		rest = rest[lengthPrefix:]
		if n > uint64(len(rest)) {
			return nil, failure.New(failure.Invalid, "BYTES element %d says that it has %d bytes, but %d are left (each element is its length as uint32, then its bytes)", i, n, len(rest))
		}
		elements = append(elements, rest[:n:n])
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return nil, failure.New(failure.Invalid, "%d bytes are left after the last of %d BYTES elements", len(rest), count)
	}
	return elements, nil
}

// AppendString appends one BYTES element to dst. An element must be shorter
// than 4 GiB, which every limit on messages makes sure of.
func AppendString[T ~string | ~[]byte](dst []byte, element T) []byte {
	if uint64(len(element)) > math.MaxUint32 {
		element = element[:math.MaxUint32]
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(element)))
	return append(dst, element...)
}

// JoinStrings is the data of a BYTES tensor with these elements.
func JoinStrings[T ~string | ~[]byte](elements ...T) []byte {
	size := 0
	for _, e := range elements {
		size += lengthPrefix + len(e)
	}
	data := make([]byte, 0, size)
	for _, e := range elements {
		data = AppendString(data, e)
	}
	return data
}
