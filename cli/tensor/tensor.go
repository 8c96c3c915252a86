// Package tensor shows what a model sees: the tensor that an image has become, as
// a file of NumPy's, as numbers, and as a picture again. It asks nobody.
package tensor

import (
	"encoding/binary"
	"math"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// types are the datatypes that images are laid out in, with NumPy's names.
var types = map[string]struct {
	npy  string
	size int
	read func([]byte) float64
}{
	"UINT8": {"|u1", 1, func(b []byte) float64 { return float64(b[0]) }},
	"INT32": {"<i4", 4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	"FP16":  {"<f2", 2, func(b []byte) float64 { return oip.Half(binary.LittleEndian.Uint16(b)) }},
	"FP32":  {"<f4", 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
}

// Values are the elements as numbers.
func Values(t oip.Tensor) ([]float64, error) {
	if err := check(t); err != nil {
		return nil, err
	}
	kind := types[t.Datatype]
	values := make([]float64, len(t.Data)/kind.size)
	for i := range values {
		values[i] = kind.read(t.Data[i*kind.size:])
	}
	return values, nil
}

// check wants a known datatype, and as many bytes as the shape says.
func check(t oip.Tensor) error {
	if _, ok := types[t.Datatype]; !ok {
		return failure.New(failure.Unsupported, "output %q is %s, which is not what images are laid out in", t.Name, t.Datatype)
	}
	if n, err := oip.ByteSize(t.Datatype, t.Shape); err != nil || n != int64(len(t.Data)) {
		return failure.Wrap(err, failure.Internal, "output %q is %s %s, but has %d bytes", t.Name, t.Datatype, oip.FormatShape(t.Shape), len(t.Data))
	}
	return nil
}
