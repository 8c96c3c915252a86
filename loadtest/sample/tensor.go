package sample

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// ParseTensor reads NAME:DATATYPE:DIMS, such as image:UINT8:224,224,3, into a
// tensor without data. A batch above 0 is put before the dimensions.
func ParseTensor(text string, batch int) (oip.Tensor, error) {
	wrong := func(why string) error {
		return failure.New(failure.Invalid, "--tensor is %q, must be NAME:DATATYPE:DIMS such as image:UINT8:224,224,3: %s", text, why)
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] == "" {
		return oip.Tensor{}, wrong("it has not three parts")
	}
	t := oip.Tensor{Name: parts[0], Datatype: parts[1]}
	if oip.Size(t.Datatype) == 0 || t.Datatype == "FP16" || t.Datatype == "BF16" {
		return oip.Tensor{}, wrong("the datatype must be BOOL, INT*, UINT*, FP32 or FP64")
	}
	if batch > 0 {
		t.Shape = append(t.Shape, int64(batch))
	}
	for dim := range strings.SplitSeq(parts[2], ",") {
		n, err := strconv.ParseInt(dim, 10, 64)
		if err != nil || n < 1 {
			return oip.Tensor{}, wrong("each dimension must be a number above 0")
		}
		t.Shape = append(t.Shape, n)
	}
	if size, err := oip.ByteSize(t.Datatype, t.Shape); err != nil || size > MaxBytes {
		return oip.Tensor{}, wrong("it is too large")
	}
	return t, nil
}

// Tensors makes so many tensors like t with random data, the same for the same
// seed. Floats are from 0 to 1.
func Tensors(t oip.Tensor, count int, seed uint64) ([]oip.Tensor, error) {
	size, err := oip.ByteSize(t.Datatype, t.Shape)
	if err != nil {
		return nil, err
	}
	if size > MaxBytes/int64(max(count, 1)) {
		return nil, failure.New(failure.TooLarge, "the tensors have more than %d bytes together", MaxBytes)
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	random := rand.NewChaCha8(key)
	tensors := make([]oip.Tensor, count)
	for i := range tensors {
		tensors[i] = t
		tensors[i].Data = content(random, t.Datatype, size)
	}
	return tensors, nil
}

func content(random *rand.ChaCha8, datatype string, size int64) []byte {
	data := make([]byte, size)
	_, _ = random.Read(data) // never fails
	switch datatype {
	case "BOOL":
		for i := range data {
			data[i] &= 1
		}
	case "FP32":
		for i := 0; i < len(data); i += 4 {
			v := float32(binary.LittleEndian.Uint32(data[i:])>>8) / (1 << 24)
			binary.LittleEndian.PutUint32(data[i:], math.Float32bits(v))
		}
	case "FP64":
		for i := 0; i < len(data); i += 8 {
			v := float64(binary.LittleEndian.Uint64(data[i:])>>11) / (1 << 53)
			binary.LittleEndian.PutUint64(data[i:], math.Float64bits(v))
		}
	}
	return data
}
