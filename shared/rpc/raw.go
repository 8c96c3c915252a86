package rpc

import (
	"bytes"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
)

// tensors is where a message keeps the bytes of its tensors.
type tensors struct {
	field protowire.Number
	bytes *[][]byte
}

// tensorsOf knows the two messages that carry tensors.
func tensorsOf(m proto.Message) (t tensors, ok bool) {
	switch m := m.(type) {
	case *inference.ModelInferRequest:
		return tensors{7, &m.RawInputContents}, true
	case *inference.ModelInferResponse:
		return tensors{6, &m.RawOutputContents}, true
	}
	return tensors{}, false
}

// unmarshalTensors reads a message whose tensors are slices of one piece of memory
// that is the message's own: they are copied once, out of gRPC's buffers, and not
// once more by the protobuf library.
func unmarshalTensors(data mem.BufferSlice, m proto.Message, t tensors) error {
	frames := make([][]byte, 0, len(data))
	for _, frame := range data {
		frames = append(frames, frame.ReadOnlyData())
	}
	own := bytes.Join(frames, nil) // does not clear what it is about to fill
	raw, rest, ok := takeApart(own, t.field)
	if !ok {
		return proto.Unmarshal(own, m) // which says what is wrong
	}
	if err := proto.Unmarshal(rest, m); err != nil {
		return err
	}
	*t.bytes = raw
	return nil
}

// takeApart separates the tensors of a message from its other fields, which are
// copied only where they stand behind one.
func takeApart(message []byte, field protowire.Number) (raw [][]byte, rest []byte, ok bool) {
	for at := 0; at < len(message); {
		number, kind, n := protowire.ConsumeTag(message[at:])
		if n < 0 {
			return nil, nil, false
		}
		value := at + n
		size := protowire.ConsumeFieldValue(number, kind, message[value:])
		if size < 0 {
			return nil, nil, false
		}
		end := value + size
		switch {
		case number == field && kind == protowire.BytesType:
			tensor, _ := protowire.ConsumeBytes(message[value:end])
			raw = append(raw, tensor[:len(tensor):len(tensor)])
		case raw == nil:
			rest = message[:end:end]
		default:
			rest = append(rest, message[at:end]...)
		}
		at = end
	}
	return raw, rest, true
}
