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

// answerTensors is the field of an answer with its tensors.
const answerTensors = 6

// tensorsOf knows the two messages that carry tensors.
func tensorsOf(m proto.Message) (t tensors, ok bool) {
	switch m := m.(type) {
	case *inference.ModelInferRequest:
		return tensors{7, &m.RawInputContents}, true
	case *inference.ModelInferResponse:
		return tensors{answerTensors, &m.RawOutputContents}, true
	}
	return tensors{}, false
}

// unmarshalTensors reads a message whose tensors are slices of one piece of memory
// that is the message's own: they are copied once, out of gRPC's buffers, and not
// once more by the protobuf library, nor by who wants numbers to be aligned.
func unmarshalTensors(data mem.BufferSlice, m proto.Message, t tensors) error {
	frames := make([][]byte, 1, 1+len(data))
	for _, frame := range data {
		frames = append(frames, frame.ReadOnlyData())
	}
	frames[0] = padding(frames[1:], t.field)
	own := bytes.Join(frames, nil)[len(frames[0]):] // does not clear what it is about to fill
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

// alignment is that of a cache line, more than any datatype needs. Memory that is
// large begins at a page.
const alignment = 64

// padding is what to put before a message so that its first tensor is aligned. It
// is empty when the first frame does not show where that begins.
func padding(frames [][]byte, field protowire.Number) []byte {
	if len(frames) == 0 {
		return nil
	}
	place := firstTensor(frames[0], field)
	return make([]byte, (alignment-place%alignment)%alignment)
}

// firstTensor is where the bytes of the first tensor begin, or 0.
func firstTensor(frame []byte, field protowire.Number) int {
	for at := 0; at < len(frame); {
		number, kind, n := protowire.ConsumeTag(frame[at:])
		if n < 0 {
			return 0
		}
		at += n
		if number == field && kind == protowire.BytesType {
			_, n := protowire.ConsumeVarint(frame[at:])
			return at + max(n, 0)
		}
		size := protowire.ConsumeFieldValue(number, kind, frame[at:])
		if size < 0 {
			return 0
		}
		at += size
	}
	return 0
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

// marshalAnswer writes an answer whose tensors are not copied. Only answers have
// that: what a client sends may be on its way still when its call has ended.
func marshalAnswer(m *inference.ModelInferResponse) (mem.BufferSlice, error) {
	head := &inference.ModelInferResponse{
		ModelName: m.GetModelName(), ModelVersion: m.GetModelVersion(), Id: m.GetId(), Parameters: m.GetParameters(), Outputs: m.GetOutputs(),
	}
	head.ProtoReflect().SetUnknown(m.ProtoReflect().GetUnknown())
	data, err := proto.Marshal(head)
	if err != nil {
		return nil, err
	}
	frames := make(mem.BufferSlice, 0, 2*len(m.GetRawOutputContents()))
	for _, tensor := range m.GetRawOutputContents() {
		data = protowire.AppendTag(data, answerTensors, protowire.BytesType)
		data = protowire.AppendVarint(data, uint64(len(tensor)))
		if mem.IsBelowBufferPoolingThreshold(len(tensor)) {
			data = append(data, tensor...)
			continue
		}
		frames = append(frames, mem.SliceBuffer(data), mem.SliceBuffer(tensor))
		data = nil
	}
	if data != nil {
		frames = append(frames, mem.SliceBuffer(data))
	}
	return frames, nil
}
