package engine

import (
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// maxBytes bounds the memory of one tensor of a run: a configuration or a model
// that asks for more must not take the process with it.
const maxBytes = 1 << 30

// leastSize is the fewest bytes of an element: a string has four of length.
func leastSize(t inference.DataType) int64 {
	if t == inference.DataType_TYPE_STRING {
		return 4
	}
	return int64(oip.Size(oip.Datatype(t)))
}

// affordable refuses a tensor that is too large for a batch whatever its free
// dimensions are.
func (t tensor) affordable(where string, batching bool, batch int64) error {
	for _, shape := range [][]int64{t.wire, t.inner} {
		n, err := oip.Elements(smallest(shape, batching, batch))
		if err != nil || n > (maxBytes-1)/max(leastSize(t.datatype), 1) {
			return failure.New(failure.Invalid, "%s is %s, which takes 1 GiB or more for a batch of %d", where, describe(t.datatype, shape), batch)
		}
	}
	return nil
}

// affordable refuses an output that turns out too large in a run.
func (c *contract) affordable(output string, bytes int64) error {
	if bytes >= c.limit {
		return failure.New(failure.TooLarge, "output %q takes %d bytes, must be less than %d", output, bytes, c.limit)
	}
	return nil
}

// smallest is a shape with a batch, in which all other free dimensions are 1.
func smallest(shape []int64, batching bool, batch int64) []int64 {
	filled := concrete(shape, 1)
	if batching {
		filled[0] = batch
	}
	return filled
}

// free tells whether a dimension beside the batch is free.
func free(shape []int64, batching bool) bool {
	for i, d := range shape {
		if d < 0 && (!batching || i > 0) {
			return true
		}
	}
	return false
}
