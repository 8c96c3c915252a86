package rest

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// errNonFinite is what JSON has no word for.
func errNonFinite() error {
	return failure.New(failure.Internal, "non-finite output: NaN and Infinity have no JSON form, ask for it as binary data")
}

// appendParameters appends parameters as a JSON object, with the size of binary
// data among them unless it is negative.
func appendParameters(dst []byte, params oip.Parameters, size int) ([]byte, error) {
	dst = append(dst, '{')
	if size >= 0 {
		dst = strconv.AppendInt(append(dst, `"`+binarySize+`":`...), int64(size), 10)
	}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, key), ':')
		var err error
		if dst, err = appendParameter(dst, params[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendParameter(dst []byte, p *inference.InferParameter) ([]byte, error) {
	switch v := p.GetParameterChoice().(type) {
	case *inference.InferParameter_BoolParam:
		return strconv.AppendBool(dst, v.BoolParam), nil
	case *inference.InferParameter_Int64Param:
		return strconv.AppendInt(dst, v.Int64Param, 10), nil
	case *inference.InferParameter_Uint64Param:
		return strconv.AppendUint(dst, v.Uint64Param, 10), nil
	case *inference.InferParameter_DoubleParam:
		return appendFloat(dst, v.DoubleParam, 64)
	case *inference.InferParameter_StringParam:
		return appendText(dst, v.StringParam), nil
	default:
		return append(dst, "null"...), nil
	}
}

// appendFloat appends the shortest text that gives the same number again.
func appendFloat(dst []byte, v float64, bits int) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, errNonFinite()
	}
	style := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		style = 'e'
	}
	return strconv.AppendFloat(dst, v, style, -1, bits), nil
}

// appendText appends a JSON string. What is not UTF-8 becomes U+FFFD.
func appendText[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		b := text[i]
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, text[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		if b < ' ' || b == '"' || b == '\\' {
			dst = appendEscape(append(dst, text[from:i]...), b)
			from = i + 1
		}
		i++
	}
	return append(append(dst, text[from:]...), '"')
}

func appendEscape(dst []byte, b byte) []byte {
	const hex = "0123456789abcdef"
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
	}
}

// appendData appends a tensor's raw data as a flat JSON list.
func appendData(dst []byte, datatype string, shape []int64, data []byte, asBase64 bool) ([]byte, error) {
	count, err := oip.Elements(shape)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the model gave a shape of %s", oip.FormatShape(shape))
	}
	if datatype == oip.Bytes {
		return appendStrings(dst, data, count, asBase64)
	}
	add, err := writer(datatype)
	if err != nil {
		return nil, err
	}
	size := oip.Size(datatype)
	if count != int64(len(data)/size) || len(data)%size != 0 {
		return nil, failure.New(failure.Internal, "the model gave %d bytes for %s of shape %s", len(data), datatype, oip.FormatShape(shape))
	}
	dst = append(slices.Grow(dst, len(data)/size*3), '[')
	for i := 0; i < len(data); i += size {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = add(dst, data[i:i+size]); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// writer chooses how an element of a datatype is written.
func writer(datatype string) (func(dst, element []byte) ([]byte, error), error) {
	le := binary.LittleEndian
	switch datatype {
	case "BOOL":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendBool(dst, e[0] != 0), nil }, nil
	case "INT8":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendInt(dst, int64(int8(e[0])), 10), nil }, nil
	case "INT16":
		return func(dst, e []byte) ([]byte, error) {
			return strconv.AppendInt(dst, int64(int16(le.Uint16(e))), 10), nil
		}, nil
	case "INT32":
		return func(dst, e []byte) ([]byte, error) {
			return strconv.AppendInt(dst, int64(int32(le.Uint32(e))), 10), nil
		}, nil
	case "INT64":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendInt(dst, int64(le.Uint64(e)), 10), nil }, nil
	case "UINT8":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendUint(dst, uint64(e[0]), 10), nil }, nil
	case "UINT16":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendUint(dst, uint64(le.Uint16(e)), 10), nil }, nil
	case "UINT32":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendUint(dst, uint64(le.Uint32(e)), 10), nil }, nil
	case "UINT64":
		return func(dst, e []byte) ([]byte, error) { return strconv.AppendUint(dst, le.Uint64(e), 10), nil }, nil
	case "FP32":
		return func(dst, e []byte) ([]byte, error) {
			return appendFloat(dst, float64(math.Float32frombits(le.Uint32(e))), 32)
		}, nil
	case "FP64":
		return func(dst, e []byte) ([]byte, error) { return appendFloat(dst, math.Float64frombits(le.Uint64(e)), 64) }, nil
	case "FP16", "BF16":
		return nil, failure.New(failure.Invalid, "%s has no JSON form, ask for it as binary data", datatype)
	default:
		return nil, failure.New(failure.Internal, "the model gave the unknown datatype %s", failure.Quote(datatype))
	}
}

func appendStrings(dst, data []byte, count int64, asBase64 bool) ([]byte, error) {
	texts, err := oip.Strings(data, count)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the model gave BYTES that are not whole")
	}
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case asBase64:
			dst = append(base64.StdEncoding.AppendEncode(append(dst, '"'), text), '"')
		case utf8.Valid(text):
			dst = appendText(dst, text)
		default:
			return nil, failure.New(failure.Invalid, "element %d is not UTF-8, ask for it as binary data or with the parameter %q: %q", i, contentType, base64Type)
		}
	}
	return append(dst, ']'), nil
}
