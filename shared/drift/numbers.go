package drift

import (
	"encoding/binary"
	"math"

	"triptych/shared/oip"
)

// readers give element i of the raw data of a datatype. Whole numbers above 2^53
// lose their last digits.
var readers = map[string]func(data []byte, i int) float64{
	"BOOL":   func(data []byte, i int) float64 { return float64(data[i]) },
	"UINT8":  func(data []byte, i int) float64 { return float64(data[i]) },
	"INT8":   func(data []byte, i int) float64 { return float64(int8(data[i])) },
	"UINT16": func(data []byte, i int) float64 { return float64(word16(data, i)) },
	"INT16":  func(data []byte, i int) float64 { return float64(int16(word16(data, i))) },
	"UINT32": func(data []byte, i int) float64 { return float64(word32(data, i)) },
	"INT32":  func(data []byte, i int) float64 { return float64(int32(word32(data, i))) },
	"UINT64": func(data []byte, i int) float64 { return float64(word64(data, i)) },
	"INT64":  func(data []byte, i int) float64 { return float64(int64(word64(data, i))) },
	"FP16":   func(data []byte, i int) float64 { return oip.Half(word16(data, i)) },
	"BF16":   func(data []byte, i int) float64 { return oip.Brain(word16(data, i)) },
	"FP32":   func(data []byte, i int) float64 { return float64(math.Float32frombits(word32(data, i))) },
	"FP64":   func(data []byte, i int) float64 { return math.Float64frombits(word64(data, i)) },
}

func word16(data []byte, i int) uint16 { return binary.LittleEndian.Uint16(data[2*i:]) }
func word32(data []byte, i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }
func word64(data []byte, i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }

func isFloat(datatype string) bool {
	switch datatype {
	case "FP16", "BF16", "FP32", "FP64":
		return true
	}
	return false
}
