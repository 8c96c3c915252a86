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
	if err := checkCount(data, count); err != nil {
		return nil, err
	}
	elements := make([][]byte, 0, count)
	err := eachString(data, count, func(element []byte) { elements = append(elements, element) })
	if err != nil {
		return nil, err
	}
	return elements, nil
}

// checkStrings is Strings for one who wants no elements: it allocates nothing.
func checkStrings(data []byte, count int64) error {
	if err := checkCount(data, count); err != nil {
		return err
	}
	return eachString(data, count, func([]byte) {})
}

func checkCount(data []byte, count int64) error {
	if count < 0 || count > int64(len(data)/lengthPrefix) {
		return failure.New(failure.Invalid, "%d BYTES elements need at least %d bytes each, but only %d bytes were sent", count, lengthPrefix, len(data))
	}
	return nil
}

func eachString(data []byte, count int64, visit func([]byte)) error {
	rest := data
	for i := range count {
		if len(rest) < lengthPrefix {
			return failure.New(failure.Invalid, "BYTES element %d of %d has no length: %d bytes are left", i, count, len(rest))
		}
		n := uint64(binary.LittleEndian.Uint32(rest))
		rest = rest[lengthPrefix:]
		if n > uint64(len(rest)) {
			return failure.New(failure.Invalid, "BYTES element %d says that it has %d bytes, but %d are left (each element is its length as uint32, then its bytes)", i, n, len(rest))
		}
		visit(rest[:n:n])
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return failure.New(failure.Invalid, "%d bytes are left after the last of %d BYTES elements", len(rest), count)
	}
	return nil
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
