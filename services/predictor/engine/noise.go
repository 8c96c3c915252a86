package engine

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"triptych/proto/inference"
)

// noise is random data of a size, the same every time, so that what fails fails
// again. Bytes are anything, floats lie between -1 and 1 (random bits would be
// NaN now and then, and numbers of any magnitude), and whole numbers are 0 or 1,
// for most often they stand for a place in a table. Strings are empty.
func noise(t inference.DataType, size int64) []byte {
	data := make([]byte, size)
	source := rand.New(rand.NewChaCha8([32]byte{}))
	switch t {
	case inference.DataType_TYPE_UINT8, inference.DataType_TYPE_INT8:
		for i := range data {
			data[i] = byte(source.Uint32())
		}
	case inference.DataType_TYPE_FP32:
		for i := 0; i < len(data); i += 4 {
			binary.LittleEndian.PutUint32(data[i:], math.Float32bits(2*source.Float32()-1))
		}
	case inference.DataType_TYPE_FP64:
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], math.Float64bits(2*source.Float64()-1))
		}
	case inference.DataType_TYPE_BF16:
		for i := 0; i < len(data); i += 2 {
			binary.LittleEndian.PutUint16(data[i:], uint16(math.Float32bits(2*source.Float32()-1)>>16))
		}
	case inference.DataType_TYPE_FP16:
		for i := 0; i < len(data); i += 2 {
			// A sign, exponents from 2^-7 to 2^-1, any fraction.
			bits := source.Uint32()
			binary.LittleEndian.PutUint16(data[i:], uint16(bits&0x83ff|(8+bits>>16%7)<<10))
		}
	case inference.DataType_TYPE_STRING:
	default:
		step := int(leastSize(t))
		for i := 0; i < len(data); i += step {
			data[i] = byte(source.Uint32() & 1)
		}
	}
	return data
}
