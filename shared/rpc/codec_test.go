package rpc

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
)

func tensor(size int) *inference.ModelInferRequest {
	return &inference.ModelInferRequest{ModelName: "m", RawInputContents: [][]byte{bytes.Repeat([]byte{7}, size)}}
}

func TestCodec(t *testing.T) {
	c := newCodec()
	for _, size := range []int{0, 1, 1000, 1 << 15, 150_528, 1 << 20, 70 << 20} {
		want := tensor(size)
		data, err := c.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if size == 150_528 && cap(data[0].ReadOnlyData()) > 1<<18 {
			t.Errorf("%d bytes take a buffer of %d", size, cap(data[0].ReadOnlyData()))
		}
		got := &inference.ModelInferRequest{}
		if err := c.Unmarshal(split(data), got); err != nil {
			t.Fatal(err)
		}
		data.Free()
		// The buffer goes to others: what was read must not change with it.
		other, err := c.Marshal(&inference.ModelInferRequest{RawInputContents: [][]byte{make([]byte, size)}})
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) {
			t.Errorf("%d bytes came back otherwise", size)
		}
		other.Free()
	}
	if _, err := c.Marshal("text"); err == nil {
		t.Error("a text was marshalled")
	}
	if err := c.Unmarshal(nil, new(string)); err == nil {
		t.Error("a text was read")
	}
}

// split makes two frames of one, as they come from a connection.
func split(data mem.BufferSlice) mem.BufferSlice {
	all := data.Materialize()
	half := len(all) / 2
	return mem.BufferSlice{mem.SliceBuffer(all[:half]), mem.SliceBuffer(all[half:])}
}

func BenchmarkCodec(b *testing.B) {
	c := newCodec()
	m := tensor(150_528)
	b.ReportAllocs()
	for b.Loop() {
		data, err := c.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		got := &inference.ModelInferRequest{}
		if err := c.Unmarshal(split(data), got); err != nil {
			b.Fatal(err)
		}
		data.Free()
	}
}
