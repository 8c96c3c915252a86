package rpc

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
)

// field is one field of a message on the wire.
func field(number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func join(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

// What comes is read as the protobuf library reads it, whatever the order of the
// fields; and what is no message is refused as there.
func TestTensorsAreReadAsByTheLibrary(t *testing.T) {
	name, id, one, two := field(1, "model"), field(3, "id"), field(7, "tensor"), field(7, "")
	cases := map[string][]byte{
		"empty":                         nil,
		"no tensors":                    join(name, id),
		"in the usual order":            join(name, id, one, two),
		"tensors first":                 join(one, two, name),
		"tensors between":               join(name, one, id, two, id),
		"a field twice":                 join(name, one, name),
		"an unknown field":              join(name, field(99, "later"), one, field(98, "")),
		"another kind under its number": join(name, protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.VarintType), 5), one),
		"cut in a tensor":               join(name, one)[:12],
		"cut in a tag":                  append(join(name, one), 0x80),
		"a length beyond the end":       join(name, protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.BytesType), 1<<60)),
		"a group that does not end":     join(name, protowire.AppendTag(nil, 50, protowire.StartGroupType)),
		"an end without a group":        join(name, protowire.AppendTag(nil, 50, protowire.EndGroupType)),
		"field number 0":                {0x02, 0x00},
		"a name that is not UTF-8":      join(field(1, "\xff"), one),
	}
	for what, wire := range cases {
		t.Run(what, func(t *testing.T) { readBothWays(t, wire) })
	}
}

func readBothWays(t *testing.T, wire []byte) {
	t.Helper()
	for _, fresh := range []func() proto.Message{
		func() proto.Message { return &inference.ModelInferRequest{} },
		func() proto.Message { return &inference.ModelInferResponse{} },
	} {
		want, got := fresh(), fresh()
		wrong := proto.Unmarshal(wire, want)
		err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes.Clone(wire))}, got)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("error %v, the library says %v", err, wrong)
		}
		if err == nil && !proto.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
}

func FuzzTensors(f *testing.F) {
	f.Add(join(field(1, "model"), field(7, "tensor"), field(6, "tensor"), field(3, "id")))
	f.Fuzz(readBothWays)
}

// Tensors are not copied twice, and can't grow into each other.
func TestTensorsShareOnePieceOfMemory(t *testing.T) {
	wire := join(field(1, "m"), field(7, "first"), field(7, "second"))
	m := &inference.ModelInferRequest{}
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(wire)}, m); err != nil {
		t.Fatal(err)
	}
	first := append(m.RawInputContents[0], "+"...)
	if string(m.RawInputContents[1]) != "second" || string(first) != "first+" {
		t.Errorf("%q and %q", first, m.RawInputContents[1])
	}
	clear(wire)
	if string(m.RawInputContents[0]) != "first" {
		t.Error("the message is in the connection's buffer")
	}
}

// The numbers of a large tensor begin where a runtime can read them, wherever they stood in the message
// and however it was cut into buffers.
func TestTheFirstTensorIsAligned(t *testing.T) {
	for length := range 20 {
		wire := join(field(1, strings.Repeat("m", length)), field(7, strings.Repeat("t", 1<<16)), field(3, "id"))
		for _, cut := range []int{len(wire), length + 10} {
			data := mem.BufferSlice{mem.SliceBuffer(bytes.Clone(wire[:cut])), mem.SliceBuffer(bytes.Clone(wire[cut:]))}
			m := &inference.ModelInferRequest{}
			if err := newCodec().Unmarshal(data, m); err != nil {
				t.Fatal(err)
			}
			tensor := m.GetRawInputContents()[0]
			if at := uintptr(unsafe.Pointer(&tensor[0])); len(tensor) != 1<<16 || at%64 != 0 {
				t.Errorf("name of %d, cut at %d: %d bytes at %#x", length, cut, len(tensor), at)
			}
		}
	}
}
