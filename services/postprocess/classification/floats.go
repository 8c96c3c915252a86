package classification

import (
	"encoding/binary"
	"math"
)

// Reader decodes little-endian numbers of one datatype into dst, which has as
// many elements as data has numbers.
type Reader func(dst []float64, data []byte)

// ReaderOf is the Reader of a datatype by its wire name, or nil when it is not
// one of FP16, BF16, FP32 and FP64.
func ReaderOf(datatype string) Reader {
	switch datatype {
	case "FP16":
		return readFP16
	case "BF16":
		return readBF16
	case "FP32":
		return readFP32
	case "FP64":
		return readFP64
	default:
		return nil
	}
}

func readFP32(dst []float64, data []byte) {
	for i := range dst {
		dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
}

func readFP64(dst []float64, data []byte) {
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
}

// readBF16 reads the upper halves of float32s.
func readBF16(dst []float64, data []byte) {
	for i := range dst {
		dst[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16))
	}
}

func readFP16(dst []float64, data []byte) {
	for i := range dst {
		dst[i] = half(binary.LittleEndian.Uint16(data[2*i:]))
	}
}

// half is the value of an IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of
// fraction.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var v float64
	switch {
	case exponent == 0x1f && fraction != 0:
		return math.NaN()
	case exponent == 0x1f:
		v = math.Inf(1)
	case exponent == 0: // subnormal
		v = math.Ldexp(fraction, -24)
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 == 1 {
		return -v
	}
	return v
}
