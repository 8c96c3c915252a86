package target

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
)

// encoded is a message in its wire form. gRPC sends it without a copy, where
// marshalling an image for each request would take more time than all the rest.
type encoded []byte

// reply is an answer and its size on the wire.
type reply struct {
	message inference.ModelInferResponse
	size    int
}

// codec is protobuf for the two.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// Name is protobuf's: the server must not see a difference.
func (codec) Name() string { return "proto" }

// Marshal passes an encoded message on.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	data, ok := v.(encoded)
	if !ok {
		return nil, fmt.Errorf("marshal %T: not encoded", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

// Unmarshal decodes a reply.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*reply)
	if !ok {
		return fmt.Errorf("unmarshal %T: not a reply", v)
	}
	r.size = data.Len()
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return proto.Unmarshal(buffer.ReadOnlyData(), &r.message)
}
