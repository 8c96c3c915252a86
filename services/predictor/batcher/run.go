package batcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

// run executes a batch and answers its members, whatever happens: an instance
// that ended here would take the whole process with it.
func (b *Batcher) run(w *work) {
	b.metrics.batch(w)
	ctx := b.startSpans(w)
	if err := b.whole(ctx, w); err != nil { // the batcher itself broke: whoever has no answer yet gets this one
		w.note(err)
		w.members = slices.DeleteFunc(w.members, func(it *item) bool { return it == nil })
		part{work: w, to: len(w.members)}.finish(b, modelserver.Timing{Batch: w.rows}, err)
	}
	w.endBatch()
}

func (b *Batcher) whole(ctx context.Context, w *work) (err error) {
	defer b.caught(&err)
	start := time.Now()
	inputs := w.members[0].inputs
	if len(w.members) > 1 {
		inputs = w.buffers.gather(w)
		b.release(w.members)
	}
	b.attempt(ctx, part{work: w, to: len(w.members), inputs: inputs, gathered: time.Since(start)})
	return nil
}

func (b *Batcher) executed(ctx context.Context, inputs []oip.Tensor) (outputs []oip.Tensor, work time.Duration, err error) {
	defer b.caught(&err)
	return b.execute(ctx, inputs)
}

// caught, deferred, is failure.Guard for a whole function.
func (b *Batcher) caught(err *error) {
	if v := recover(); v != nil {
		*err = failure.Wrap(failure.Panicked(v), failure.Internal, "model %q broke while it ran a batch", b.cfg.Model)
	}
}

// part is a batch, or those of its members that run once more.
type part struct {
	*work
	from, to int // members
	inputs   []oip.Tensor
	gathered time.Duration
}

func (p part) all() []*item { return p.members[p.from:p.to] }

func (p part) isWhole() bool { return p.from == 0 && p.to == len(p.members) }

// attempt runs a part and answers its members. When it fails, they run once
// more: one by one, so that one poisonous request fails alone, or in halves when
// the device's memory was too small.
func (b *Batcher) attempt(ctx context.Context, p part) {
	begun := time.Now()
	outputs, work, err := b.executed(ctx, p.inputs)
	took := time.Since(begun)
	timing := modelserver.Timing{ComputeInput: p.gathered, ComputeInfer: took, Batch: p.rowsOf(p.from, p.to), Executions: 1}
	oom := errors.Is(err, ErrOutOfMemory)
	if oom {
		b.shrink(timing.Batch)
	}
	p.note(err)
	switch {
	case err == nil:
		b.learn(p, timing.Batch, p.gathered+took, work)
		p.answer(b, outputs, timing)
	case p.to-p.from == 1 || ctx.Err() != nil || !oom && !p.isWhole():
		timing.Executions = 0
		p.finish(b, timing, err)
	case oom:
		b.metrics.retried[retryMemory].Inc()
		middle := p.middle()
		b.again(ctx, p.sub(p.from, middle), p.sub(middle, p.to))
	default:
		b.metrics.retried[retryFailed].Inc()
		alone := make([]part, 0, p.to-p.from)
		for i := p.from; i < p.to; i++ {
			alone = append(alone, p.sub(i, i+1))
		}
		b.again(ctx, alone...)
	}
}

// again runs parts of a batch that failed. All parts are there before the first
// runs: members that have their answers may not be looked at any longer.
func (b *Batcher) again(ctx context.Context, parts ...part) {
	for _, p := range parts {
		b.begin(p)
		own, done := p.until(ctx)
		b.attempt(own, p)
		done()
	}
}

// begin tells since when, and until when, an instance runs a part: a batch of
// which many members run once more is slow, but does not hang.
func (b *Batcher) begin(p part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.busy[p.id] = span{now, now.Add(p.lane.cost.of(p.rowsOf(p.from, p.to))), watched(p.members[p.from:])}
}

// until is a context that ends with ctx and, for one member, when its caller goes:
// the others, who wait for their turns, must not wait for nobody. done must follow.
func (p part) until(ctx context.Context) (own context.Context, done func()) {
	if p.to-p.from > 1 {
		return ctx, func() {}
	}
	own, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.members[p.from].ctx, cancel)
	return own, func() { stop(); cancel() }
}

// shrink lowers the limit of rows.
func (b *Batcher) shrink(rows int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit.lower(rows, time.Now()) {
		b.metrics.limit.Set(float64(b.limit.rows))
	}
}

// learn keeps how long the batch took, and how much work it was. Parts that run once more say nothing
// about batches.
func (b *Batcher) learn(p part, rows int, took, work time.Duration) {
	if !p.isWhole() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.speed.add(len(p.members), took)
	p.lane.cost.add(rows, took)
	if work > 0 {
		p.lane.work.add(rows, work)
	}
}

// middle is where the part is halved by rows.
func (p part) middle() int {
	half := p.rowsOf(p.from, p.to) / 2
	i := p.from + 1
	for rows := p.members[p.from].rows; i < p.to-1 && rows+p.members[i].rows <= half; i++ {
		rows += p.members[i].rows
	}
	return i
}

func (p part) rowsOf(from, to int) int {
	rows := 0
	for _, it := range p.members[from:to] {
		rows += it.rows
	}
	return rows
}

// sub is members of the part, with their rows of the inputs.
func (p part) sub(from, to int) part {
	inputs := make([]oip.Tensor, len(p.inputs))
	for i, in := range p.inputs {
		begin, size := 0, 0
		for n, it := range p.members[p.from:to] {
			if p.from+n < from {
				begin += len(it.inputs[i].Data)
			} else {
				size += len(it.inputs[i].Data)
			}
		}
		in.Data = in.Data[begin : begin+size]
		in.Shape = append([]int64{int64(p.rowsOf(from, to))}, in.Shape[1:]...)
		inputs[i] = in
	}
	return part{work: p.work, from: from, to: to, inputs: inputs}
}

// answer gives every member its rows of the outputs.
func (p part) answer(b *Batcher, outputs []oip.Tensor, timing modelserver.Timing) {
	start := time.Now()
	err := b.scatter(p, timing.Batch, outputs)
	timing.ComputeOutput = time.Since(start)
	p.finish(b, timing, err)
}

// finish hands the members their answers, or what went wrong.
func (p part) finish(b *Batcher, timing modelserver.Timing, err error) {
	executions := timing.Executions
	timing.Executions = 0
	for _, it := range p.all() {
		it.timing = timing
		it.timing.Queue = it.waited
		if err != nil {
			it.resp, it.err = nil, err
		}
		it.endRun(it.err)
	}
	b.settle(p.work, p.all(), executions)
}
