package modelconfig

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// MarshalJSON writes a configuration in the JSON form of Triton's API, which
// ParseJSON reads: snake_case names in the order of the fields' numbers, every
// scalar, list and map written even when empty, messages and members of a oneof
// only when set, 64-bit integers as numbers, enums by name.
func MarshalJSON(cfg *inference.ModelConfig) ([]byte, error) {
	return appendMessage(nil, cfg.ProtoReflect())
}

func appendMessage(dst []byte, m protoreflect.Message) ([]byte, error) {
	fields := make([]protoreflect.FieldDescriptor, 0, m.Descriptor().Fields().Len())
	for i := range m.Descriptor().Fields().Len() {
		// Presence is that of messages and of a oneof's members.
		if f := m.Descriptor().Fields().Get(i); !f.HasPresence() || m.Has(f) {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number()) - int(b.Number()) })
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), f.Name()...), `":`...)
		var err error
		if dst, err = appendField(dst, f, m.Get(f)); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendField(dst []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) (_ []byte, err error) {
	switch {
	case f.IsMap():
		return appendMap(dst, f, v.Map())
	case f.IsList():
		dst = append(dst, '[')
		for i := range v.List().Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, f, v.List().Get(i)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	default:
		return appendValue(dst, f, v)
	}
}

// appendMap writes a map in the order of its keys, which are texts in JSON.
func appendMap(dst []byte, f protoreflect.FieldDescriptor, m protoreflect.Map) (_ []byte, err error) {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int {
		if f.MapKey().Kind() == protoreflect.Uint64Kind {
			return cmp.Compare(a.Uint(), b.Uint())
		}
		return cmp.Compare(a.String(), b.String())
	})
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendText(dst, key.String()); err != nil {
			return nil, err
		}
		if dst, err = appendValue(append(dst, ':'), f.MapValue(), m.Get(key)); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return appendMessage(dst, v.Message())
	case protoreflect.EnumKind:
		if known := f.Enum().Values().ByNumber(v.Enum()); known != nil {
			return append(append(append(dst, '"'), known.Name()...), '"'), nil
		}
		return strconv.AppendInt(dst, int64(v.Enum()), 10), nil
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool()), nil
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return appendFloat(dst, f, v.Float())
	case protoreflect.StringKind:
		return appendText(dst, v.String())
	default:
		return nil, failure.New(failure.Internal, "the field %s of a configuration has no JSON form", f.FullName())
	}
}

func appendFloat(dst []byte, f protoreflect.FieldDescriptor, v float64) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, failure.New(failure.Internal, "the field %s of a configuration is not finite", f.FullName())
	}
	bits := 64
	if f.Kind() == protoreflect.FloatKind {
		bits = 32
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits), nil
}

func appendText(dst []byte, text string) ([]byte, error) {
	quoted, err := json.Marshal(text)
	return append(dst, quoted...), err
}
