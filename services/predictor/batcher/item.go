package batcher

import (
	"container/list"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// item is one request in the batcher.
type item struct {
	ctx      context.Context // the caller's, for as long as the caller waits
	inputs   []oip.Tensor    // sorted by name; their data is the caller's
	rows     int
	key      string
	sequence uint64 // the order of arrival
	enqueued time.Time
	sampled  bool
	queue    trace.Span // nil unless sampled

	// Guarded by the batcher's lock.
	lane   *lane         // nil unless it waits
	place  *list.Element // in the lane
	batch  *batch        // nil until it was cut
	waited time.Duration

	// Written before done is closed, read after it.
	resp   *inference.ModelInferResponse
	timing modelserver.Timing
	err    error
	done   chan struct{}
}

func newItem(ctx context.Context, req *inference.ModelInferRequest, cfg Config) (*item, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	it := &item{ctx: ctx, rows: 1, inputs: views(req), enqueued: time.Now(), done: make(chan struct{})}
	if cfg.MaxBatchSize == 0 {
		return it, nil
	}
	for i, in := range it.inputs {
		if len(in.Shape) == 0 || in.Shape[0] < 1 || in.Shape[0] > int64(cfg.MaxBatchSize) || i > 0 && int(in.Shape[0]) != it.rows {
			return nil, failure.New(failure.Invalid, "input %q has shape %s, whose first dimension is no batch from 1 to %d that all inputs share", in.Name, oip.FormatShape(in.Shape), cfg.MaxBatchSize)
		}
		it.rows = int(in.Shape[0])
	}
	if cfg.Dynamic {
		it.key = laneKey(it.inputs)
	}
	return it, nil
}

// views are the inputs of a request, sorted by name so that the order in which
// a caller lists them makes no difference.
func views(req *inference.ModelInferRequest) []oip.Tensor {
	inputs := make([]oip.Tensor, 0, len(req.GetInputs()))
	for i, in := range req.GetInputs() {
		inputs = append(inputs, oip.Tensor{Name: in.GetName(), Datatype: in.GetDatatype(), Shape: in.GetShape(), Data: req.GetRawInputContents()[i]})
	}
	slices.SortFunc(inputs, func(a, b oip.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return inputs
}

// laneKey is the same for requests that can be concatenated along their first
// dimension: the same inputs with the same datatypes and row shapes.
func laneKey(inputs []oip.Tensor) string {
	var buffer [128]byte
	key := buffer[:0]
	for _, in := range inputs {
		key = strconv.AppendQuote(key, in.Name)
		key = append(key, in.Datatype...)
		for _, d := range in.Shape[1:] {
			key = append(key, ',')
			key = strconv.AppendInt(key, d, 10)
		}
	}
	return string(key)
}

func (it *item) queued() bool { return it.lane != nil }

// dead tells whether nobody waits for the answer any longer. A context's own
// timer may be a moment late, so the deadline is looked at too.
func (it *item) dead(now time.Time) bool {
	if it.ctx.Err() != nil {
		return true
	}
	deadline, ok := it.ctx.Deadline()
	return ok && !now.Before(deadline)
}

// finish hands the caller its answer.
func (it *item) finish(resp *inference.ModelInferResponse, timing modelserver.Timing, err error) {
	it.resp, it.timing, it.err = resp, timing, err
	close(it.done)
}
