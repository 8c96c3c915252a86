package batcher

import (
	"unsafe"

	"triptych/shared/oip"
)

// buffers is an instance's memory for gathered inputs, used again for every
// batch: nobody outside sees it.
type buffers struct {
	memory [][]byte
	inputs []oip.Tensor
	shapes [][]int64
}

const (
	// maxKept bounds what an instance holds on to between batches.
	maxKept = 64 << 20
	// alignment is that of a cache line, more than any datatype needs.
	alignment = 64
)

// gather concatenates the members' inputs along the first dimension.
func (s *buffers) gather(w *work) []oip.Tensor {
	first := w.members[0].inputs
	for len(s.memory) < len(first) {
		s.memory, s.shapes = append(s.memory, nil), append(s.shapes, nil)
	}
	s.inputs = s.inputs[:0]
	kept := 0
	for i, in := range first {
		data := empty(s.memory[i], w, i)
		for _, it := range w.members {
			data = append(data, it.inputs[i].Data...)
		}
		s.shapes[i] = append(append(s.shapes[i][:0], int64(w.rows)), in.Shape[1:]...)
		s.inputs = append(s.inputs, oip.Tensor{Name: in.Name, Datatype: in.Datatype, Shape: s.shapes[i], Data: data})
		s.memory[i] = nil
		if kept += cap(data); kept <= maxKept {
			s.memory[i] = data
		}
	}
	return s.inputs
}

// empty is aligned memory with room for all members' bytes of input i.
func empty(memory []byte, w *work, i int) []byte {
	size := 0
	for _, it := range w.members {
		size += len(it.inputs[i].Data)
	}
	if cap(memory) >= size {
		return memory[:0]
	}
	raw := make([]byte, size+alignment)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % alignment
	return raw[skip:skip]
}
