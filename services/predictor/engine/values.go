package engine

import (
	"fmt"
	"runtime"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// values are the inputs and outputs of one run after the other. The runtime reads
// and writes our memory, so it is pinned from the time when the runtime learns of
// it until clear.
type values struct {
	in, out []ort.Value
	memory  [][]byte // of each output; nil when the runtime allocates it
	shape   []int64  // of an output, while the runtime learns of it
	bytes   int64    // of all inputs
	pins    runtime.Pinner
}

// clear is called once after each run.
func (v *values) clear() {
	discardAll(v.in)
	discardAll(v.out)
	clear(v.memory) // the answer's owner decides how long it lives
	v.in, v.out, v.memory, v.bytes = v.in[:0], v.out[:0], v.memory[:0], 0
	v.pins.Unpin()
}

func discardAll(values []ort.Value) {
	for i, value := range values {
		if value != nil {
			discard(value)
			values[i] = nil
		}
	}
}

// fill makes the runtime see a batch and tells its size.
func (v *values) fill(c *contract, inputs []oip.Tensor, preallocate bool) (int64, error) {
	batch := int64(1)
	for _, want := range c.inputs {
		in, ok := named(inputs, want.name)
		if !ok {
			return 0, failure.New(failure.Invalid, "input %q is missing", want.name)
		}
		if c.batching {
			batch = in.Shape[0]
		}
		if err := v.input(want, in); err != nil {
			return 0, err
		}
	}
	for _, out := range c.outputs {
		if err := v.output(c, out, batch, preallocate && out.preallocated(c.batching)); err != nil {
			return 0, err
		}
	}
	return batch, nil
}

// discard frees what the binding holds in C. Its errors are always nil.
func discard(held interface{ Destroy() error }) { _ = held.Destroy() }

// input adds a tensor that a caller sent. Its data is not copied, unless it
// lies in memory where its elements are not aligned.
func (v *values) input(want tensor, in oip.Tensor) error {
	shape, err := want.inside(in.Shape)
	if err != nil {
		return err
	}
	v.bytes += int64(len(in.Data))
	var value ort.Value
	if in.Datatype == oip.Bytes {
		value, err = stringTensor(shape, in.Data)
	} else {
		value, err = v.view(want, shape, aligned(in.Data, oip.Size(in.Datatype)))
	}
	if err != nil {
		return failure.Prefix(fmt.Sprintf("input %q", want.name), err)
	}
	v.in = append(v.in, value)
	return nil
}

// output adds a place for a tensor: memory of our own that will be the answer's,
// or nothing, for the runtime to allocate.
func (v *values) output(c *contract, want tensor, batch int64, preallocate bool) error {
	if !preallocate {
		v.out, v.memory = append(v.out, nil), append(v.memory, nil)
		return nil
	}
	v.shape = appendConcrete(v.shape[:0], want.inner, batch)
	size, err := oip.ByteSize(oip.Datatype(want.datatype), v.shape)
	if err != nil {
		return err
	}
	if err := c.affordable(want.name, size); err != nil {
		return err
	}
	data := make([]byte, size)
	value, err := v.view(want, v.shape, data)
	if err != nil {
		return failure.Prefix(fmt.Sprintf("output %q", want.name), err)
	}
	v.out, v.memory = append(v.out, value), append(v.memory, data)
	return nil
}

// view makes the runtime see data as a tensor.
func (v *values) view(want tensor, shape []int64, data []byte) (ort.Value, error) {
	if len(data) == 0 {
		// The binding wants an address even for no elements.
		data = make([]byte, 8)
	}
	v.pins.Pin(&data[0])
	value, err := ort.NewCustomDataTensor(shape, data, datatypes[want.datatype])
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the runtime takes no tensor of shape %s", oip.FormatShape(shape))
	}
	return value, nil
}

// aligned is data, or a copy of it that begins at a multiple of size. Contents
// of a message lie where the message's parser found them.
func aligned(data []byte, size int) []byte {
	if len(data) == 0 || uintptr(unsafe.Pointer(&data[0]))%uintptr(max(size, 1)) == 0 {
		return data
	}
	return append(make([]byte, 0, len(data)), data...)
}

// concrete is a shape in which the batch is the only free dimension, with it.
func concrete(shape []int64, batch int64) []int64 {
	return appendConcrete(make([]int64, 0, len(shape)), shape, batch)
}

func appendConcrete(filled, shape []int64, batch int64) []int64 {
	for _, d := range shape {
		if d < 0 {
			d = batch
		}
		filled = append(filled, d)
	}
	return filled
}

// stringTensor copies BYTES elements into the runtime's own strings.
func stringTensor(shape []int64, data []byte) (ort.Value, error) {
	count, err := oip.Elements(shape)
	if err != nil {
		return nil, err
	}
	elements, err := oip.Strings(data, count)
	if err != nil {
		return nil, err
	}
	contents := make([]string, len(elements))
	for i, e := range elements {
		contents[i] = string(e)
	}
	value, err := ort.NewStringTensor(shape)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the runtime takes no strings of shape %s", oip.FormatShape(shape))
	}
	if err := value.SetContents(contents); err != nil {
		discard(value)
		return nil, failure.Wrap(err, failure.Internal, "the runtime takes no strings of shape %s", oip.FormatShape(shape))
	}
	return value, nil
}

// results are the outputs of a run that succeeded.
func (v *values) results(c *contract, batch int64) ([]oip.Tensor, error) {
	outputs := make([]oip.Tensor, 0, len(c.outputs))
	for i, want := range c.outputs {
		out := oip.Tensor{Name: want.name, Datatype: oip.Datatype(want.datatype), Data: v.memory[i]}
		var err error
		if out.Data == nil {
			out.Shape, out.Data, err = v.found(c, want, i)
		} else {
			out.Shape, err = want.outside(batch)
		}
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, out)
	}
	return outputs, nil
}

// found reads an output that the runtime allocated.
func (v *values) found(c *contract, want tensor, i int) ([]int64, []byte, error) {
	inner := []int64(v.out[i].GetShape())
	if !oip.Fits(inner, want.inner) {
		return nil, nil, failure.New(failure.Internal, "the model gave output %q with shape %s, the configuration says %s", want.name, oip.FormatShape(inner), oip.FormatShape(want.inner))
	}
	shape, err := replace(inner, want.inner, want.wire)
	if err != nil {
		return nil, nil, err
	}
	data, err := contents(v.out[i])
	if err != nil {
		return nil, nil, failure.Prefix(fmt.Sprintf("output %q", want.name), err)
	}
	return shape, data, c.affordable(want.name, int64(len(data)))
}

// contents are the bytes of a tensor that the runtime allocated. The binding has
// copied numbers into Go memory already, which becomes the answer's.
func contents(value ort.Value) ([]byte, error) {
	switch t := value.(type) {
	case *ort.StringTensor:
		elements, err := t.GetContents()
		if err != nil {
			return nil, failure.Wrap(err, failure.Internal, "the strings can't be read")
		}
		return oip.JoinStrings(elements...), nil
	case *ort.Tensor[bool]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[uint8]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[uint16]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[uint32]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[uint64]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[int8]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[int16]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[int32]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[int64]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[float32]:
		return bytesOf(t.GetData()), nil
	case *ort.Tensor[float64]:
		return bytesOf(t.GetData()), nil
	default:
		return nil, failure.New(failure.Internal, "a value of type %s can't be read", value.GetONNXType())
	}
}

// bytesOf sees numbers as bytes. All machines that the runtime is built for are
// little-endian, as the protocol is.
func bytesOf[T any](numbers []T) []byte {
	if len(numbers) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&numbers[0])), len(numbers)*int(unsafe.Sizeof(numbers[0])))
}
