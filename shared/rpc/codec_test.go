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

// An answer is written from where its tensors are, and comes back the same, with all
// of its fields.
func TestAnswersAreNotCopied(t *testing.T) {
	c := newCodec()
	want := &inference.ModelInferResponse{
		ModelName: "m", ModelVersion: "1", Id: "i",
		Parameters: map[string]*inference.InferParameter{"p": {ParameterChoice: &inference.InferParameter_Int64Param{Int64Param: 7}}},
		Outputs:    []*inference.ModelInferResponse_InferOutputTensor{{Name: "o", Datatype: "UINT8", Shape: []int64{3}}},
	}
	want.ProtoReflect().SetUnknown([]byte{0x9a, 0x06, 0x01, 0x07}) // field 99
	for name, tensors := range map[string][][]byte{
		"none":            nil,
		"small":           {[]byte("abc"), {}},
		"large":           {bytes.Repeat([]byte{7}, 150_528)},
		"large and small": {bytes.Repeat([]byte{7}, 150_528), []byte("abc"), bytes.Repeat([]byte{8}, 5000), {}},
	} {
		t.Run(name, func(t *testing.T) {
			want.RawOutputContents = tensors
			data, err := c.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			shared := 0
			for _, frame := range data {
				for _, tensor := range tensors {
					if b := frame.ReadOnlyData(); len(tensor) > 0 && len(b) == len(tensor) && &b[0] == &tensor[0] {
						shared++
					}
				}
			}
			large := 0
			for _, tensor := range tensors {
				if len(tensor) > 1000 {
					large++
				}
			}
			if shared != large {
				t.Errorf("%d tensors are sent from where they are, want %d", shared, large)
			}
			got := &inference.ModelInferResponse{}
			if err := c.Unmarshal(split(data), got); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("it came back otherwise: %v", got)
			}
			whole, err := proto.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if len(whole) != data.Len() {
				t.Errorf("%d bytes, the library makes %d", data.Len(), len(whole))
			}
		})
	}
	if n := want.ProtoReflect().Descriptor().Fields().Len(); n != 6 {
		t.Errorf("an answer has %d fields, 6 are written", n)
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
