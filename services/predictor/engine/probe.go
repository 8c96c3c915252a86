package engine

import (
	"context"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// probe runs the session on zeros: once as a request of one, and once as a
// batch of two when the model says that it batches. A batch of two is the
// smallest that shows whether the rows of the answer are those of the inputs; a
// model that passes alone and mixes callers in a batch must never serve.
//
// Free dimensions are 1. Where the model does not take that, nobody knows which
// sizes it takes: it is not probed, and the check of every batch has to do. That a
// GPU fails is no matter of sizes.
func (s *Session) probe(ctx context.Context, r *replica, maxBatch int64) error {
	if _, _, err := s.run(ctx, r, s.contract.zeros(1), true); err != nil {
		if s.free() && failure.OfContext(ctx) == nil && (!r.device.GPU() || !ofDevice(err)) {
			s.logger.Debug("model not probed", "reason", "it does not take free dimensions of 1", "error", err)
			return nil
		}
		return s.probeFailed(ctx, "a run on zeros fails", err)
	}
	if maxBatch < 2 {
		return nil
	}
	outputs, _, err := s.run(ctx, r, s.contract.zeros(2), s.narrow())
	if err != nil {
		return s.probeFailed(ctx, "a batch of 2 fails, so that the model can't batch", err)
	}
	for _, out := range outputs {
		if len(out.Shape) == 0 || out.Shape[0] != 2 {
			return failure.New(failure.Invalid, "model %q: a batch of 2 gives output %q with shape %s, so that the model can't batch: set max_batch_size to 0", s.model, out.Name, oip.FormatShape(out.Shape))
		}
	}
	return nil
}

func (s *Session) probeFailed(ctx context.Context, what string, err error) error {
	if gone := failure.OfContext(ctx); gone != nil {
		return gone
	}
	return failure.Wrap(err, failure.Invalid, "model %q: %s: %s", s.model, what, plain(innermost(err)))
}

// innermost is the runtime's own error under ours, where there is one.
func innermost(err error) error {
	for {
		wrapped, ok := err.(interface{ Unwrap() error })
		if !ok || wrapped.Unwrap() == nil {
			return err
		}
		err = wrapped.Unwrap()
	}
}

// narrow tells whether an output can only be read from memory of our own.
func (s *Session) narrow() bool {
	for _, out := range s.contract.outputs {
		if out.datatype == inference.DataType_TYPE_FP16 || out.datatype == inference.DataType_TYPE_BF16 {
			return true
		}
	}
	return false
}

// free tells whether an input has a free dimension beside the batch.
func (s *Session) free() bool {
	return slices.ContainsFunc(s.contract.inputs, func(in tensor) bool { return free(in.wire, s.contract.batching) })
}

// zeros are inputs for a batch, all zero. Zero bytes are also the right number
// of empty BYTES elements.
func (c *contract) zeros(batch int64) []oip.Tensor {
	inputs := make([]oip.Tensor, 0, len(c.inputs))
	for _, in := range c.inputs {
		shape := smallest(in.wire, c.batching, batch)
		inputs = append(inputs, oip.Tensor{Name: in.name, Datatype: oip.Datatype(in.datatype), Shape: shape, Data: make([]byte, zeroSize(in.datatype, shape))})
	}
	return inputs
}

// zeroSize is the number of bytes of a tensor of zeros, or of empty strings.
func zeroSize(t inference.DataType, shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n * leastSize(t)
}
