package batcher

import "triptych/shared/oip"

// buffers is an instance's memory for gathered inputs, used again for every
// batch: nobody outside sees it.
type buffers struct{ memory [][]byte }

// maxKept bounds what an instance holds on to between batches.
const maxKept = 64 << 20

// gather concatenates the members' inputs along the first dimension.
func (s *buffers) gather(work *batch) []oip.Tensor {
	first := work.members[0].inputs
	for len(s.memory) < len(first) {
		s.memory = append(s.memory, nil)
	}
	inputs := make([]oip.Tensor, len(first))
	kept := 0
	for i, in := range first {
		data := empty(s.memory[i], work, i)
		for _, it := range work.members {
			data = append(data, it.inputs[i].Data...)
		}
		shape := append([]int64{int64(work.rows)}, in.Shape[1:]...)
		inputs[i] = oip.Tensor{Name: in.Name, Datatype: in.Datatype, Shape: shape, Data: data}
		s.memory[i] = nil
		if kept += cap(data); kept <= maxKept {
			s.memory[i] = data
		}
	}
	return inputs
}

// empty is memory with room for all members' bytes of input i.
func empty(memory []byte, work *batch, i int) []byte {
	size := 0
	for _, it := range work.members {
		size += len(it.inputs[i].Data)
	}
	if cap(memory) >= size {
		return memory[:0]
	}
	return make([]byte, 0, size)
}
