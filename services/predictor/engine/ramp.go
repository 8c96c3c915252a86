package engine

import (
	"context"
	"slices"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// Measured is how long a batch took that was run alone.
type Measured struct {
	Rows int
	Took time.Duration
}

const (
	// steady is the time from which one run tells enough of a size: below it the
	// first is often the slow one, and a second one is cheap.
	steady = 200 * time.Millisecond
	// linear is how much longer a batch of twice the rows takes where nothing is
	// gained by batching: larger ones bring nothing new.
	linear = 1.9
)

// The values of the parameter "warmup_sizes", the first is the default.
var warmupSizes = []string{"auto", "all", "none"}

// ramp runs a batch of zeros of each size that the model will see, smallest
// first. On a CPU, by default, it ends when twice the rows take twice the time:
// there is nothing to compile or to search for, and loading should be quick.
func (s *Session) ramp(ctx context.Context, cfg *inference.ModelConfig) ([]Measured, error) {
	which := modelconfig.NewParameters(cfg).Word("warmup_sizes", warmupSizes...)
	if which == "none" {
		return nil, nil
	}
	var first []Measured
	for i, items := range s.itemShapes(cfg) {
		measured, err := s.rampOf(ctx, cfg, items, which == "auto" && !s.Device().GPU())
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = measured
		}
	}
	if len(first) > 0 {
		s.checkMates(ctx)
	}
	return first, nil
}

func (s *Session) rampOf(ctx context.Context, cfg *inference.ModelConfig, items [][]int64, early bool) ([]Measured, error) {
	var measured []Measured
	for _, rows := range s.sizes(cfg) {
		inputs, ok := s.batchOfZeros(items, rows)
		if !ok {
			s.logger.Debug("warm-up ended", "reason", "the next batch takes 1 GiB or more", "rows", rows)
			break
		}
		took, err := s.measure(ctx, inputs, rows)
		if OutOfMemory(err) {
			// While a version is swapped both are in memory: it may fit later, and if
			// not, the batcher halves what does not fit.
			s.logger.Warn("warm-up ended", "reason", "the device has no memory for the batch", "rows", rows)
			break
		}
		if err != nil {
			return nil, err
		}
		measured = append(measured, Measured{Rows: rows, Took: took})
		if early && noGain(measured) {
			s.logger.Debug("warm-up ended", "reason", "a batch is no cheaper than its rows", "rows", rows)
			break
		}
	}
	return measured, nil
}

// sizes are 1, 2, 4 and so on, the largest batch, and those that the batcher is
// asked to prefer.
func (s *Session) sizes(cfg *inference.ModelConfig) []int {
	if !s.contract.batching {
		return []int{1}
	}
	largest := int(cfg.GetMaxBatchSize())
	sizes := []int{largest}
	for n := 1; n < largest; n *= 2 {
		sizes = append(sizes, n)
	}
	for _, n := range cfg.GetDynamicBatching().GetPreferredBatchSize() {
		if n > 0 && int(n) <= largest {
			sizes = append(sizes, int(n))
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// noGain compares the last size with half of it. A single row says nothing: it
// may run on other kernels.
func noGain(measured []Measured) bool {
	last := measured[len(measured)-1]
	for _, m := range measured {
		if m.Rows >= 2 && 2*m.Rows == last.Rows {
			return float64(last.Took) >= linear*float64(m.Took)
		}
	}
	return false
}

// itemShapes are the shapes, without the batch, to warm up at: the one that the
// configuration fixes, or else those of its model_warmup, in the order of the
// inputs.
func (s *Session) itemShapes(cfg *inference.ModelConfig) [][][]int64 {
	if !s.free() {
		fixed := make([][]int64, 0, len(s.contract.inputs))
		for _, in := range s.contract.inputs {
			fixed = append(fixed, s.item(in.wire))
		}
		return [][][]int64{fixed}
	}
	var shapes [][][]int64
	for _, sample := range cfg.GetModelWarmup() {
		if s.switchedOff(sample) {
			continue
		}
		items := make([][]int64, 0, len(s.contract.inputs))
		for _, in := range s.contract.inputs {
			items = append(items, sample.GetInputs()[in.name].GetDims())
		}
		if !slices.ContainsFunc(shapes, func(have [][]int64) bool { return slices.EqualFunc(have, items, slices.Equal) }) {
			shapes = append(shapes, items)
		}
	}
	if len(shapes) == 0 {
		s.logger.Debug("batch sizes not warmed up", "reason", "dimensions are free and model_warmup gives none")
	}
	return shapes
}

// item is a shape without its batch.
func (s *Session) item(shape []int64) []int64 {
	if s.contract.batching {
		return shape[1:]
	}
	return shape
}

// batchOfZeros are inputs of those shapes; false when they take too much memory.
func (s *Session) batchOfZeros(items [][]int64, rows int) ([]oip.Tensor, bool) {
	inputs, total := make([]oip.Tensor, len(items)), int64(0)
	for i, in := range s.contract.inputs {
		shape := append([]int64{}, items[i]...)
		if s.contract.batching {
			shape = append([]int64{int64(rows)}, shape...)
		}
		n, err := oip.Elements(shape)
		if err != nil || n > (maxBytes-1)/leastSize(in.datatype) {
			return nil, false
		}
		if total += zeroSize(in.datatype, shape); total >= maxBytes {
			return nil, false
		}
		inputs[i] = oip.Tensor{Name: in.name, Datatype: oip.Datatype(in.datatype), Shape: shape, Data: make([]byte, zeroSize(in.datatype, shape))}
	}
	return inputs, true
}

// measure runs a batch everywhere, twice when it is quick, and tells what the last
// run took that was in no wide session: what batches take while there is much to do.
func (s *Session) measure(ctx context.Context, inputs []oip.Tensor, rows int) (time.Duration, error) {
	var took time.Duration
	for _, at := range s.everywhere() {
		last, err := s.measureThere(ctx, at, inputs, rows)
		if err != nil {
			return 0, err
		}
		if at.gear == narrow {
			took = last
		}
	}
	return took, nil
}

func (s *Session) measureThere(ctx context.Context, at seat, inputs []oip.Tensor, rows int) (time.Duration, error) {
	var took time.Duration
	for n := range 2 {
		if n > 0 && took >= steady {
			break
		}
		start := time.Now()
		outputs, err := s.runThere(ctx, at, inputs)
		took = time.Since(start)
		if err != nil {
			return 0, s.warmUpFailed(ctx, rows, err)
		}
		if err := s.checkRows(outputs, rows); err != nil {
			return 0, err
		}
	}
	return took, nil
}

func (s *Session) warmUpFailed(ctx context.Context, rows int, err error) error {
	if gone := failure.OfContext(ctx); gone != nil {
		return gone
	}
	return failure.Wrap(err, failure.Invalid, "model %q: a batch of %d zeros fails: %s (the parameter \"warmup_sizes\" with the value \"none\" leaves it out)", s.model, rows, plain(innermost(err)))
}

// checkRows refuses a model that gives another number of rows than it got, which
// the probe at load can't see in all of them.
func (s *Session) checkRows(outputs []oip.Tensor, rows int) error {
	for _, out := range outputs {
		if s.contract.batching && (len(out.Shape) == 0 || out.Shape[0] != int64(rows)) {
			return failure.New(failure.Invalid, "model %q: a batch of %d gives output %q with shape %s, so that the model can't batch", s.model, rows, out.Name, oip.FormatShape(out.Shape))
		}
	}
	return nil
}
