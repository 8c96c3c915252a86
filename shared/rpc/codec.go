package rpc

import (
	"errors"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/memory"
)

// codec is gRPC's own codec for protobuf over our own pool of buffers. gRPC's have
// nothing between 32 KiB and 1 MiB, and clear what they lend: for a tensor of
// 150 KB that was an eighth of what a hop costs.
type codec struct{ pool mem.BufferPool }

var _ encoding.CodecV2 = codec{}

var errNotAMessage = errors.New("only protobuf messages travel by gRPC")

func newCodec() codec { return codec{&memory.Pool{}} }

// Name implements encoding.CodecV2.
func (c codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2. The tensors of an answer are sent from where
// they are: nobody may write them any more.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNotAMessage
	}
	if answer, ok := v.(*inference.ModelInferResponse); ok && len(answer.GetRawOutputContents()) > 0 {
		return marshalAnswer(answer)
	}
	size := proto.Size(m)
	options := proto.MarshalOptions{UseCachedSize: true}
	if mem.IsBelowBufferPoolingThreshold(size) {
		data, err := options.Marshal(m)
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	}
	buffer := c.pool.Get(size)
	if _, err := options.MarshalAppend((*buffer)[:0], m); err != nil {
		c.pool.Put(buffer)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, c.pool)}, nil
}

// Unmarshal implements encoding.CodecV2. The message has bytes of its own.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return errNotAMessage
	}
	if t, ok := tensorsOf(m); ok {
		return unmarshalTensors(data, m, t)
	}
	buffer := data.MaterializeToBuffer(c.pool)
	defer buffer.Free()
	return proto.Unmarshal(buffer.ReadOnlyData(), m)
}
