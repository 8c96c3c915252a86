// Package oip gives views over Open Inference Protocol v2 messages: tensors,
// BYTES elements, shapes, parameters, and the checks that come before any work.
// It keeps no tensor type of its own beside the messages.
package oip

import "triptych/proto/inference"

// Bytes is the wire name of the datatype whose elements have a length each.
const Bytes = "BYTES"

// typeInfo is one row of Triton's table of datatypes.
type typeInfo struct {
	name string
	size int // bytes an element; 0 for BYTES
}

var types = map[inference.DataType]typeInfo{
	inference.DataType_TYPE_BOOL:   {"BOOL", 1},
	inference.DataType_TYPE_UINT8:  {"UINT8", 1},
	inference.DataType_TYPE_UINT16: {"UINT16", 2},
	inference.DataType_TYPE_UINT32: {"UINT32", 4},
	inference.DataType_TYPE_UINT64: {"UINT64", 8},
	inference.DataType_TYPE_INT8:   {"INT8", 1},
	inference.DataType_TYPE_INT16:  {"INT16", 2},
	inference.DataType_TYPE_INT32:  {"INT32", 4},
	inference.DataType_TYPE_INT64:  {"INT64", 8},
	inference.DataType_TYPE_FP16:   {"FP16", 2},
	inference.DataType_TYPE_FP32:   {"FP32", 4},
	inference.DataType_TYPE_FP64:   {"FP64", 8},
	inference.DataType_TYPE_STRING: {Bytes, 0},
	inference.DataType_TYPE_BF16:   {"BF16", 2},
}

var typeNamed = func() map[string]inference.DataType {
	named := make(map[string]inference.DataType, len(types))
	for t, info := range types {
		named[info.name] = t
	}
	return named
}()

// Datatype is the wire name of a configuration's type: TYPE_STRING is "BYTES".
// TYPE_INVALID has none.
func Datatype(t inference.DataType) string { return types[t].name }

// DataType is the configuration's type for a wire name, or TYPE_INVALID.
func DataType(name string) inference.DataType { return typeNamed[name] }

// Size is the number of bytes of one element; 0 for BYTES and unknown names.
func Size(datatype string) int { return types[typeNamed[datatype]].size }
