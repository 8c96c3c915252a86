package batcher

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// item is one request in the batcher.
type item struct {
	ctx      context.Context // the caller's, for as long as the caller waits
	inputs   []oip.Tensor    // sorted by name; their data is the caller's
	rows     int
	key      []byte
	enqueued time.Time
	deadline time.Time // zero: none
	level    int
	bulk     bool          // work of a job, for which nobody waits
	due      time.Duration // the deadline, since the batcher began; what orders a level
	sequence uint64        // the order of arrival
	trial    bool          // it runs to know the cost again, whether or not in time
	sampled  bool
	queue    trace.Span // nil unless sampled
	run      trace.Span // nil unless sampled

	// Guarded by the batcher's lock.
	lane     *lane // nil unless it waits
	delayed  bool  // its timeout has put it behind the others
	work     *work // the batch that it is part of
	read     bool  // its memory is read
	left     bool  // its caller has gone
	waited   time.Duration
	answered bool // in an ordered batcher: it waits for those before it

	// Written before done, read after it.
	resp   *inference.ModelInferResponse
	timing modelserver.Timing
	err    error
	done   chan struct{} // gets one value, when the answer is there
}

// recycle gives an item back that nobody else knows any longer: it never waited,
// or its caller has received from done.
func (b *Batcher) recycle(it *item) {
	clear(it.inputs)
	*it = item{done: it.done, inputs: it.inputs[:0], key: it.key[:0]}
	b.items.Put(it)
}

// newItem makes the item of a request that came now.
func (b *Batcher) newItem(ctx context.Context, req *inference.ModelInferRequest) (*item, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	it, ok := b.items.Get().(*item)
	if !ok {
		it = &item{done: make(chan struct{}, 1)}
	}
	it.ctx, it.rows, it.enqueued = ctx, 1, time.Now()
	it.view(req)
	err := it.measure(b.cfg)
	if err == nil {
		err = it.rank(b, req)
	}
	if err != nil {
		b.recycle(it)
		return nil, err
	}
	if b.cfg.Dynamic {
		it.key = appendKey(it.key, it.inputs)
	}
	return it, nil
}

// view sees the inputs of a request, sorted by name so that the order in which a
// caller lists them makes no difference.
func (it *item) view(req *inference.ModelInferRequest) {
	for i, in := range req.GetInputs() {
		it.inputs = append(it.inputs, oip.Tensor{Name: in.GetName(), Datatype: in.GetDatatype(), Shape: in.GetShape(), Data: req.GetRawInputContents()[i]})
	}
	slices.SortFunc(it.inputs, func(a, b oip.Tensor) int { return strings.Compare(a.Name, b.Name) })
}

func (it *item) measure(cfg Config) error {
	if cfg.MaxBatchSize == 0 {
		return nil
	}
	for i, in := range it.inputs {
		if len(in.Shape) == 0 || in.Shape[0] < 1 || in.Shape[0] > int64(cfg.MaxBatchSize) || i > 0 && int(in.Shape[0]) != it.rows {
			return failure.New(failure.Invalid, "input %q has shape %s, whose first dimension is no batch from 1 to %d that all inputs share", in.Name, oip.FormatShape(in.Shape), cfg.MaxBatchSize)
		}
		it.rows = int(in.Shape[0])
	}
	return nil
}

// farDeadline is the latest deadline that requests are ordered by: beyond it, and
// without one, they run as they come. So nobody who has time waits for longer than
// this behind others who have less and keep coming.
const farDeadline = 10 * time.Second

// rank finds the request's level and its place in it.
func (it *item) rank(b *Batcher, req *inference.ModelInferRequest) error {
	it.bulk = call.Of(it.ctx).Bulk
	priority, err := oip.IntParameter(req.GetParameters(), "priority", int64(min(call.Of(it.ctx).Priority, maxLevels+1)))
	if err != nil {
		return err
	}
	it.level = b.cfg.DefaultLevel
	if priority >= 1 && priority <= int64(b.cfg.Levels) {
		it.level = int(priority)
	}
	if it.bulk {
		it.level = b.cfg.bulkLevel()
	}
	due := it.enqueued.Add(farDeadline)
	if deadline, ok := it.ctx.Deadline(); ok {
		it.deadline = deadline
		if deadline.Before(due) {
			due = deadline
		}
	}
	if !b.cfg.inOrder() {
		it.due = due.Sub(b.begun)
	}
	return nil
}

// appendKey adds what is the same for requests that can be concatenated along
// their first dimension: the inputs with their datatypes and row shapes.
func appendKey(key []byte, inputs []oip.Tensor) []byte {
	for _, in := range inputs {
		key = strconv.AppendQuote(key, in.Name)
		key = append(key, in.Datatype...)
		for _, d := range in.Shape[1:] {
			key = append(key, ',')
			key = strconv.AppendInt(key, d, 10)
		}
	}
	return key
}

func (it *item) queued() bool { return it.lane != nil }

// dead tells whether nobody waits for the answer any longer. A context's own
// timer may be a moment late, so the deadline is looked at too.
func (it *item) dead(now time.Time) bool {
	return it.ctx.Err() != nil || !it.deadline.IsZero() && !now.Before(it.deadline)
}
