package modelconfig

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triptych/proto/inference"
)

// upperEnums rewrites the JSON form with the names of enums in upper case; false
// when there is nothing to rewrite.
func upperEnums(data []byte) ([]byte, bool) {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber() // 64 bits stay 64 bits
	var document any
	if decoder.Decode(&document) != nil || !raise(document, (&inference.ModelConfig{}).ProtoReflect().Descriptor()) {
		return nil, false
	}
	upper, err := json.Marshal(document)
	return upper, err == nil
}

// raise changes the enums in the JSON form of a message, and tells whether it
// did.
func raise(document any, message protoreflect.MessageDescriptor) bool {
	object, ok := document.(map[string]any)
	if !ok || message == nil {
		return false
	}
	changed := false
	for key, value := range object {
		field := message.Fields().ByTextName(key)
		if field == nil {
			continue
		}
		of := field
		if field.IsMap() {
			of = field.MapValue()
		}
		each(value, field, func(value any, set func(any)) {
			if name, isText := value.(string); isText && of.Enum() != nil && name != strings.ToUpper(name) {
				set(strings.ToUpper(name))
				changed = true
				return
			}
			changed = raise(value, of.Message()) || changed
		}, func(v any) { object[key] = v })
	}
	return changed
}

// each visits the one value of a field, or each of a list or a map.
func each(value any, field protoreflect.FieldDescriptor, visit func(value any, set func(any)), set func(any)) {
	switch values := value.(type) {
	case []any:
		for i, v := range values {
			visit(v, func(v any) { values[i] = v })
		}
	case map[string]any:
		if !field.IsMap() {
			visit(value, set)
			return
		}
		for key, v := range values {
			visit(v, func(v any) { values[key] = v })
		}
	default:
		visit(value, set)
	}
}
