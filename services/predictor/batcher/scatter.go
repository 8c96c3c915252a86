package batcher

import (
	"encoding/binary"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// answers cuts the outputs of a batch into one response for each member. The
// responses' data are slices of the outputs' memory, with nothing behind them.
func (b *Batcher) answers(work *batch, outputs []oip.Tensor, err error) ([]*inference.ModelInferResponse, error) {
	if err != nil {
		return nil, err
	}
	responses := make([]*inference.ModelInferResponse, len(work.members))
	for i := range responses {
		responses[i] = &inference.ModelInferResponse{
			Outputs:           make([]*inference.ModelInferResponse_InferOutputTensor, 0, len(outputs)),
			RawOutputContents: make([][]byte, 0, len(outputs)),
		}
	}
	for _, out := range outputs {
		if b.cfg.MaxBatchSize == 0 {
			oip.AddOutput(responses[0], out)
			continue
		}
		if err := scatter(out, work, responses); err != nil {
			return nil, err
		}
	}
	return responses, nil
}

// scatter gives each member its rows of one output. Rows are never guessed: an
// output with another number of rows than the batch fails it.
func scatter(out oip.Tensor, work *batch, responses []*inference.ModelInferResponse) error {
	if len(out.Shape) == 0 || out.Shape[0] != int64(work.rows) {
		return failure.New(failure.Internal, "the model gave output %q with shape %s for a batch of %d", out.Name, oip.FormatShape(out.Shape), work.rows)
	}
	if _, err := oip.ByteSize(out.Datatype, out.Shape); err != nil {
		return failure.Wrap(err, failure.Internal, "the model gave output %q with shape %s, which is too large to count", out.Name, oip.FormatShape(out.Shape))
	}
	rowShape := out.Shape[1:]
	perRow, err := oip.Elements(rowShape)
	if err != nil {
		return err
	}
	rest := out.Data
	for i, it := range work.members {
		size, err := sizeOfRows(out, rest, int64(it.rows), perRow)
		if err != nil {
			return err
		}
		shape := append([]int64{int64(it.rows)}, rowShape...)
		oip.AddOutput(responses[i], oip.Tensor{Name: out.Name, Datatype: out.Datatype, Shape: shape, Data: rest[:size:size]})
		rest = rest[size:]
	}
	if len(rest) != 0 {
		return failure.New(failure.Internal, "the model gave %d bytes too many for output %q of shape %s", len(rest), out.Name, oip.FormatShape(out.Shape))
	}
	return nil
}

// sizeOfRows is the number of bytes that the next rows take.
func sizeOfRows(out oip.Tensor, rest []byte, rows, perRow int64) (int64, error) {
	short := failure.New(failure.Internal, "the model gave too few bytes for output %q of shape %s", out.Name, oip.FormatShape(out.Shape))
	size := rows * perRow * int64(oip.Size(out.Datatype))
	if out.Datatype == oip.Bytes {
		for range rows * perRow {
			if int64(len(rest)) < size+4 {
				return 0, short
			}
			size += 4 + int64(binary.LittleEndian.Uint32(rest[size:]))
		}
	}
	if size > int64(len(rest)) {
		return 0, short
	}
	return size, nil
}
