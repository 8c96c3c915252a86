package otlp

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// spans is a request of an exporter, of which only the number is of interest.
type spans int

// wire is protobuf's codec for that: it skips what it counts.
type wire struct{}

// Name is protobuf's.
func (wire) Name() string { return "proto" }

// Marshal makes the empty answer, which means that all is well.
func (wire) Marshal(any) (mem.BufferSlice, error) { return mem.BufferSlice{}, nil }

// Unmarshal counts.
func (wire) Unmarshal(data mem.BufferSlice, v any) error {
	n, ok := v.(*spans)
	if !ok {
		return fmt.Errorf("unmarshal %T: not spans", v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	count, err := countAt(buffer.ReadOnlyData(), resourceSpans, scopeSpans, spanList)
	*n = spans(count)
	return err
}

// The numbers of the fields on the way to a span.
const (
	resourceSpans protowire.Number = 1
	scopeSpans    protowire.Number = 2
	spanList      protowire.Number = 2
)

// countAt counts the messages at the end of a path of fields.
func countAt(data []byte, path ...protowire.Number) (int, error) {
	if len(path) == 0 {
		return 1, nil
	}
	count := 0
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(field, kind, data); n < 0 {
			return 0, protowire.ParseError(n)
		}
		if field == path[0] && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(data)
			found, err := countAt(inner, path[1:]...)
			if err != nil {
				return 0, err
			}
			count += found
		}
		data = data[n:]
	}
	return count, nil
}
