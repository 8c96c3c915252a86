package batcher

import (
	"encoding/binary"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// answer is a response with room for what most have, in one piece of memory.
type answer struct {
	response inference.ModelInferResponse
	output   inference.ModelInferResponse_InferOutputTensor
	outputs  [1]*inference.ModelInferResponse_InferOutputTensor
	raw      [1][]byte
	shape    [4]int64
}

// newAnswer makes an empty response for so many outputs.
func newAnswer(outputs int) (*answer, *inference.ModelInferResponse) {
	a := &answer{}
	if outputs == 1 {
		a.response.Outputs, a.response.RawOutputContents = a.outputs[:0], a.raw[:0]
	} else {
		a.response.Outputs = make([]*inference.ModelInferResponse_InferOutputTensor, 0, outputs)
		a.response.RawOutputContents = make([][]byte, 0, outputs)
	}
	return a, &a.response
}

// add puts rows of an output into the response: the bytes, and a shape that
// begins with the rows.
func (a *answer) add(out oip.Tensor, shape []int64, data []byte) {
	tensor := &a.output
	if len(a.response.Outputs) > 0 {
		tensor = &inference.ModelInferResponse_InferOutputTensor{}
	}
	tensor.Name, tensor.Datatype, tensor.Shape = out.Name, out.Datatype, shape
	a.response.Outputs = append(a.response.Outputs, tensor)
	a.response.RawOutputContents = append(a.response.RawOutputContents, data)
}

// newShape is a copy of a shape with other rows.
func (a *answer) newShape(rows int, shape []int64) []int64 {
	own := a.shape[:0]
	if len(a.response.Outputs) > 0 || len(shape) > len(a.shape) {
		own = make([]int64, 0, len(shape))
	}
	return append(append(own, int64(rows)), shape[1:]...)
}

// scatter cuts the outputs of a batch into one response for each member. The
// responses' data are slices of the outputs' memory, with nothing behind them.
func (b *Batcher) scatter(p part, rows int, outputs []oip.Tensor) error {
	members := p.all()
	if b.cfg.MaxBatchSize == 0 {
		a, response := newAnswer(len(outputs))
		for _, out := range outputs {
			a.add(out, out.Shape, out.Data)
		}
		members[0].resp = response
		return nil
	}
	cuts := p.cuts[:0]
	for _, out := range outputs {
		c, err := newCutter(out, rows)
		if err != nil {
			return err
		}
		cuts = append(cuts, c)
	}
	defer func() {
		clear(cuts) // the outputs are the callers'
		p.cuts = cuts
	}()
	for _, it := range members {
		a, response := newAnswer(len(outputs))
		for i := range cuts {
			data, err := cuts[i].next(it.rows)
			if err != nil {
				return err
			}
			a.add(cuts[i].out, a.newShape(it.rows, cuts[i].out.Shape), data)
		}
		it.resp = response
	}
	for i := range cuts {
		if left := len(cuts[i].rest); left != 0 {
			return failure.New(failure.Internal, "the model gave %d bytes too many for output %q of shape %s", left, cuts[i].out.Name, oip.FormatShape(cuts[i].out.Shape))
		}
	}
	return nil
}

// cutter gives the members their rows of an output, one after the other.
type cutter struct {
	out    oip.Tensor
	rest   []byte
	perRow int64 // elements
	size   int   // of an element; 0 for BYTES
}

// newCutter checks the output's shape. Rows are never guessed: an output with
// another number of rows than the batch fails it.
func newCutter(out oip.Tensor, rows int) (cutter, error) {
	if len(out.Shape) == 0 || out.Shape[0] != int64(rows) {
		return cutter{}, failure.New(failure.Internal, "the model gave output %q with shape %s for a batch of %d", out.Name, oip.FormatShape(out.Shape), rows)
	}
	if _, err := oip.ByteSize(out.Datatype, out.Shape); err != nil {
		return cutter{}, failure.Wrap(err, failure.Internal, "the model gave output %q with shape %s, which is too large to count", out.Name, oip.FormatShape(out.Shape))
	}
	perRow, err := oip.Elements(out.Shape[1:])
	if err != nil {
		return cutter{}, err
	}
	return cutter{out, out.Data, perRow, oip.Size(out.Datatype)}, nil
}

// next is the data of the next rows.
func (c *cutter) next(rows int) ([]byte, error) {
	size, err := c.sizeOf(int64(rows))
	if err != nil {
		return nil, err
	}
	data := c.rest[:size:size]
	c.rest = c.rest[size:]
	return data, nil
}

// sizeOf is the number of bytes that the next rows take.
func (c *cutter) sizeOf(rows int64) (int64, error) {
	size := rows * c.perRow * int64(c.size)
	if c.out.Datatype == oip.Bytes {
		for range rows * c.perRow {
			if int64(len(c.rest)) < size+4 {
				return 0, c.short()
			}
			size += 4 + int64(binary.LittleEndian.Uint32(c.rest[size:]))
		}
	}
	if size > int64(len(c.rest)) {
		return 0, c.short()
	}
	return size, nil
}

func (c *cutter) short() error {
	return failure.New(failure.Internal, "the model gave too few bytes for output %q of shape %s", c.out.Name, oip.FormatShape(c.out.Shape))
}
