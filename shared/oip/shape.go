package oip

import (
	"math"
	"strconv"
	"strings"

	"triptych/shared/failure"
)

// maxRank bounds the dimensions of a tensor: none that is served has more than
// a handful, and a request with thousands is an attack on whoever prints it.
const maxRank = 32

// Elements multiplies a wire shape. A negative dimension, too many dimensions
// and a product beyond int64 are Invalid.
func Elements(shape []int64) (int64, error) {
	if len(shape) > maxRank {
		return 0, failure.New(failure.Invalid, "shape has %d dimensions, at most %d are allowed", len(shape), maxRank)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, failure.New(failure.Invalid, "shape %s has a negative dimension", FormatShape(shape))
		}
		if d != 0 && n > math.MaxInt64/d {
			return 0, failure.New(failure.Invalid, "shape %s has more elements than can be counted", FormatShape(shape))
		}
		n *= d
	}
	return n, nil
}

// ByteSize is the number of bytes of a tensor of a fixed-size datatype.
func ByteSize(datatype string, shape []int64) (int64, error) {
	n, err := Elements(shape)
	if err != nil {
		return 0, err
	}
	size := int64(Size(datatype))
	if size != 0 && n > math.MaxInt64/size {
		return 0, failure.New(failure.Invalid, "shape %s has more bytes than can be counted", FormatShape(shape))
	}
	return n * size, nil
}

// FormatShape writes a shape as "[1,224,224,3]".
func FormatShape(shape []int64) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	b.WriteByte(']')
	return b.String()
}

// Fits tells whether a wire shape matches a wanted one, in which -1 is free.
func Fits(shape, want []int64) bool {
	if len(shape) != len(want) {
		return false
	}
	for i, w := range want {
		if w >= 0 && shape[i] != w {
			return false
		}
	}
	return true
}

// WireShape is the wire shape of a configuration's dims: with a batch dimension
// of -1 in front when the model batches.
func WireShape(maxBatchSize int32, dims []int64) []int64 {
	if maxBatchSize <= 0 {
		return append([]int64{}, dims...)
	}
	return append([]int64{-1}, dims...)
}
