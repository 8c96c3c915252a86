package engine

import (
	ort "github.com/yalue/onnxruntime_go"

	"triptych/proto/inference"
)

// datatypes are the element types that both sides know.
var datatypes = map[inference.DataType]ort.TensorElementDataType{
	inference.DataType_TYPE_BOOL:   ort.TensorElementDataTypeBool,
	inference.DataType_TYPE_UINT8:  ort.TensorElementDataTypeUint8,
	inference.DataType_TYPE_UINT16: ort.TensorElementDataTypeUint16,
	inference.DataType_TYPE_UINT32: ort.TensorElementDataTypeUint32,
	inference.DataType_TYPE_UINT64: ort.TensorElementDataTypeUint64,
	inference.DataType_TYPE_INT8:   ort.TensorElementDataTypeInt8,
	inference.DataType_TYPE_INT16:  ort.TensorElementDataTypeInt16,
	inference.DataType_TYPE_INT32:  ort.TensorElementDataTypeInt32,
	inference.DataType_TYPE_INT64:  ort.TensorElementDataTypeInt64,
	inference.DataType_TYPE_FP16:   ort.TensorElementDataTypeFloat16,
	inference.DataType_TYPE_FP32:   ort.TensorElementDataTypeFloat,
	inference.DataType_TYPE_FP64:   ort.TensorElementDataTypeDouble,
	inference.DataType_TYPE_STRING: ort.TensorElementDataTypeString,
	inference.DataType_TYPE_BF16:   ort.TensorElementDataTypeBFloat16,
}

// dataTypeOf is the configuration's type for the runtime's, or TYPE_INVALID.
func dataTypeOf(element ort.TensorElementDataType) inference.DataType {
	for t, e := range datatypes {
		if e == element {
			return t
		}
	}
	return inference.DataType_TYPE_INVALID
}
