package classification

import (
	"encoding/binary"
	"math"

	"triptych/shared/oip"
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

func readBF16(dst []float64, data []byte) {
	for i := range dst {
		dst[i] = oip.Brain(binary.LittleEndian.Uint16(data[2*i:]))
	}
}

func readFP16(dst []float64, data []byte) {
	for i := range dst {
		dst[i] = oip.Half(binary.LittleEndian.Uint16(data[2*i:]))
	}
}
