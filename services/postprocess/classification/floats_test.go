package classification_test

import (
	"encoding/binary"
	"math"
	"testing"

	"triptych/services/postprocess/classification"
)

func TestReaders(t *testing.T) {
	le := binary.LittleEndian
	tests := []struct {
		name, datatype string
		data           []byte
		want           float64
	}{
		{"FP32", "FP32", le.AppendUint32(nil, math.Float32bits(-1.5)), -1.5},
		{"FP64", "FP64", le.AppendUint64(nil, math.Float64bits(1e300)), 1e300},
		{"BF16", "BF16", le.AppendUint16(nil, 0xbfc0), -1.5},
		{"FP16", "FP16", le.AppendUint16(nil, 0xbe00), -1.5},
		{"FP16 one", "FP16", le.AppendUint16(nil, 0x3c00), 1},
		{"FP16 greatest", "FP16", le.AppendUint16(nil, 0x7bff), 65504},
		{"FP16 least normal", "FP16", le.AppendUint16(nil, 0x0400), math.Ldexp(1, -14)},
		{"FP16 least subnormal", "FP16", le.AppendUint16(nil, 0x0001), math.Ldexp(1, -24)},
		{"FP16 zero", "FP16", le.AppendUint16(nil, 0x8000), 0},
		{"FP16 +Inf", "FP16", le.AppendUint16(nil, 0x7c00), math.Inf(1)},
		{"FP16 -Inf", "FP16", le.AppendUint16(nil, 0xfc00), math.Inf(-1)},
		{"FP16 NaN", "FP16", le.AppendUint16(nil, 0x7e01), math.NaN()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := make([]float64, 2)
			classification.ReaderOf(tt.datatype)(got, append(append([]byte{}, tt.data...), tt.data...))
			for _, v := range got {
				if v != tt.want && !(math.IsNaN(v) && math.IsNaN(tt.want)) {
					t.Errorf("read %v, want %v", v, tt.want)
				}
			}
		})
	}
}

func TestReaderOfOthers(t *testing.T) {
	for _, datatype := range []string{"", "UINT8", "BYTES", "fp32"} {
		if classification.ReaderOf(datatype) != nil {
			t.Errorf("ReaderOf(%q) is not nil", datatype)
		}
	}
}
