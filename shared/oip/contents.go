package oip

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// MakeRaw turns the typed contents of a request's inputs into raw ones, in
// place, and tells whether it found typed contents (an answer should then have
// them too). Mixed forms and a wrong number of raw contents are Invalid.
func MakeRaw(req *inference.ModelInferRequest) (typed bool, err error) {
	for _, in := range req.GetInputs() {
		if in.GetContents() != nil {
			typed = true
		}
	}
	if len(req.GetRawInputContents()) > 0 {
		if typed {
			return false, failure.New(failure.Invalid, "the request mixes raw_input_contents with typed contents")
		}
		return false, checkRaw(req)
	}
	raw := make([][]byte, len(req.GetInputs()))
	for i, in := range req.GetInputs() {
		data, err := rawContents(in.GetDatatype(), in.GetContents())
		if err != nil {
			return false, failure.Prefix("input "+failure.Quote(in.GetName()), err)
		}
		raw[i] = data
		in.Contents = nil
	}
	req.RawInputContents = raw
	return typed, nil
}

// contentsField is the list of InferTensorContents that a datatype's values
// stand in. FP16 and BF16 have none.
var contentsField = map[string]protoreflect.Name{
	"BOOL": "bool_contents",
	"INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents", "INT64": "int64_contents",
	"UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents", "UINT64": "uint64_contents",
	"FP32": "fp32_contents", "FP64": "fp64_contents", Bytes: "bytes_contents",
}

// checkField refuses values in a list that is not the datatype's.
func checkField(datatype string, c *inference.InferTensorContents) error {
	want, ok := contentsField[datatype]
	if !ok {
		return nil // rawContents says what is wrong
	}
	var err error
	c.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if f.Name() != want {
			err = failure.New(failure.Invalid, "values of datatype %s go into %s, not into %s", datatype, want, f.Name())
		}
		return err == nil
	})
	return err
}

// rawContents encodes the one list that fits the datatype; values that do not
// fit the datatype's width are refused, never cut.
func rawContents(datatype string, c *inference.InferTensorContents) ([]byte, error) {
	if err := checkField(datatype, c); err != nil {
		return nil, err
	}
	switch datatype {
	case "BOOL":
		data := make([]byte, len(c.GetBoolContents()))
		for i, v := range c.GetBoolContents() {
			if v {
				data[i] = 1
			}
		}
		return data, nil
	case "INT8", "INT16", "INT32":
		return integers(datatype, c.GetIntContents())
	case "INT64":
		return encode(8, c.GetInt64Contents(), func(d []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(d, uint64(v)) }), nil
	case "UINT8", "UINT16", "UINT32":
		return integers(datatype, c.GetUintContents())
	case "UINT64":
		return encode(8, c.GetUint64Contents(), binary.LittleEndian.AppendUint64), nil
	case "FP32":
		return encode(4, c.GetFp32Contents(), func(d []byte, v float32) []byte { return binary.LittleEndian.AppendUint32(d, math.Float32bits(v)) }), nil
	case "FP64":
		return encode(8, c.GetFp64Contents(), func(d []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(d, math.Float64bits(v)) }), nil
	case Bytes:
		return JoinStrings(c.GetBytesContents()...), nil
	case "FP16", "BF16":
		return nil, failure.New(failure.Invalid, "datatype %s has no typed contents, send raw_input_contents", datatype)
	default:
		return nil, failure.New(failure.Invalid, "unknown datatype %s", failure.Quote(datatype))
	}
}

func encode[T any](size int, values []T, add func([]byte, T) []byte) []byte {
	data := make([]byte, 0, size*len(values))
	for _, v := range values {
		data = add(data, v)
	}
	return data
}

var integerRange = map[string][2]int64{
	"INT8": {math.MinInt8, math.MaxInt8}, "INT16": {math.MinInt16, math.MaxInt16}, "INT32": {math.MinInt32, math.MaxInt32},
	"UINT8": {0, math.MaxUint8}, "UINT16": {0, math.MaxUint16}, "UINT32": {0, math.MaxUint32},
}

func integers[T int32 | uint32](datatype string, values []T) ([]byte, error) {
	limits, size := integerRange[datatype], Size(datatype)
	data := make([]byte, 0, size*len(values))
	for i, v := range values {
		if n := int64(v); n < limits[0] || n > limits[1] {
			return nil, failure.New(failure.Invalid, "element %d is %d, which is not a %s", i, n, datatype)
		}
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], uint32(v))
		data = append(data, word[:size]...)
	}
	return data, nil
}

// MakeTyped turns the raw contents of a response's outputs into typed ones, in
// place, for a caller that sent typed contents. A response with an FP16 or BF16
// output stays raw, for those have no typed form. An output whose bytes do not go
// with its datatype and shape is the model's failure.
func MakeTyped(resp *inference.ModelInferResponse) error {
	if outputs, raw := len(resp.GetOutputs()), len(resp.GetRawOutputContents()); outputs != raw {
		return failure.New(failure.Internal, "the model gave %d outputs but %d raw contents", outputs, raw)
	}
	contents := make([]*inference.InferTensorContents, len(resp.GetOutputs()))
	for i, out := range resp.GetOutputs() {
		if out.GetDatatype() == "FP16" || out.GetDatatype() == "BF16" {
			return nil
		}
		c, err := typedContents(out.GetDatatype(), out.GetShape(), resp.GetRawOutputContents()[i])
		if err != nil {
			return failure.New(failure.Internal, "output %s: %s", failure.Quote(out.GetName()), failure.Message(err))
		}
		contents[i] = c
	}
	for i, out := range resp.GetOutputs() {
		out.Contents = contents[i]
	}
	resp.RawOutputContents = nil
	return nil
}

func typedContents(datatype string, shape []int64, data []byte) (*inference.InferTensorContents, error) {
	count, err := Elements(shape)
	if err != nil {
		return nil, err
	}
	if size, err := ByteSize(datatype, shape); datatype != Bytes && (err != nil || size != int64(len(data))) {
		return nil, failure.New(failure.Internal, "%s of shape %s does not have %d bytes", failure.Quote(datatype), FormatShape(shape), len(data))
	}
	c := &inference.InferTensorContents{}
	le := binary.LittleEndian
	switch datatype {
	case "BOOL":
		c.BoolContents = decode(1, data, func(b []byte) bool { return b[0] != 0 })
	case "INT8":
		c.IntContents = decode(1, data, func(b []byte) int32 { return int32(int8(b[0])) })
	case "INT16":
		c.IntContents = decode(2, data, func(b []byte) int32 { return int32(int16(le.Uint16(b))) })
	case "INT32":
		c.IntContents = decode(4, data, func(b []byte) int32 { return int32(le.Uint32(b)) })
	case "INT64":
		c.Int64Contents = decode(8, data, func(b []byte) int64 { return int64(le.Uint64(b)) })
	case "UINT8":
		c.UintContents = decode(1, data, func(b []byte) uint32 { return uint32(b[0]) })
	case "UINT16":
		c.UintContents = decode(2, data, func(b []byte) uint32 { return uint32(le.Uint16(b)) })
	case "UINT32":
		c.UintContents = decode(4, data, le.Uint32)
	case "UINT64":
		c.Uint64Contents = decode(8, data, le.Uint64)
	case "FP32":
		c.Fp32Contents = decode(4, data, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) })
	case "FP64":
		c.Fp64Contents = decode(8, data, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) })
	case Bytes:
		if c.BytesContents, err = Strings(data, count); err != nil {
			return nil, err
		}
	default:
		return nil, failure.New(failure.Internal, "unknown datatype %s", failure.Quote(datatype))
	}
	return c, nil
}

func decode[T any](size int, data []byte, get func([]byte) T) []T {
	values := make([]T, 0, len(data)/size)
	for ; len(data) >= size; data = data[size:] {
		values = append(values, get(data))
	}
	return values
}
