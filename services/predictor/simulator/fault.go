package simulator

import (
	"context"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// fits refuses a batch that needs more memory than there is.
func (d *device) fits(n int64) error {
	if d.memoryLimit == 0 || n <= d.memoryLimit/d.memoryPerItem {
		return nil
	}
	return failure.Wrap(batcher.ErrOutOfMemory, failure.Internal, "model %q: a batch of %d, each of %d bytes, does not fit into the simulated memory of %d bytes", d.model, n, d.memoryPerItem, d.memoryLimit)
}

// faulty tells whether the batch is to fail.
func (d *device) faulty(number int64, inputs []oip.Tensor, n int64) bool {
	return d.failEvery > 0 && number%d.failEvery == 0 || d.poison >= 0 && poisonous(inputs, n, byte(d.poison))
}

// poisonous tells whether a row of any input begins with the byte.
func poisonous(inputs []oip.Tensor, n int64, poison byte) bool {
	for _, in := range inputs {
		if in.Datatype == oip.Bytes {
			if poisonousText(in, n, poison) {
				return true
			}
			continue
		}
		size := int64(len(in.Data)) / n
		for at := int64(0); size > 0 && at < int64(len(in.Data)); at += size {
			if in.Data[at] == poison {
				return true
			}
		}
	}
	return false
}

// poisonousText is poisonous for rows of texts: the first text of a row counts.
func poisonousText(in oip.Tensor, n int64, poison byte) bool {
	count, err := oip.Elements(in.Shape)
	if err != nil || count == 0 {
		return false
	}
	texts, err := oip.Strings(in.Data, count)
	if err != nil {
		return false
	}
	for i := int64(0); i < count; i += count / n {
		if len(texts[i]) > 0 && texts[i][0] == poison {
			return true
		}
	}
	return false
}

// fail fails a batch in the configured way. A hang is time beside the batch's
// own; when it is over, the batch has its answer after all.
func (d *device) fail(ctx context.Context, w waiter, number int64, inputs []oip.Tensor, n int64, end time.Time) ([]oip.Tensor, error) {
	switch d.failWith {
	case failOutOfMemory:
		return nil, failure.Wrap(batcher.ErrOutOfMemory, failure.Internal, "model %q: batch %d is made to run out of the simulated memory", d.model, number)
	case failHang:
		if d.hang == 0 {
			<-ctx.Done()
			return nil, failure.OfContext(ctx)
		}
		return d.answer(ctx, w, inputs, n, end.Add(d.hang))
	}
	if err := w.until(ctx, end); err != nil {
		return nil, err
	}
	return nil, failure.New(failure.Internal, "model %q: batch %d is made to fail", d.model, number)
}
