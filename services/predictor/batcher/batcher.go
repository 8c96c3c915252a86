package batcher

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Execute runs one batch. It must not keep or change the inputs, and what it
// returns must be memory of its own that it never uses again. When MaxBatchSize
// is not 0, every output must have as many rows as the inputs. An error that is
// ErrOutOfMemory lowers the size of batches for a while. The context ends when no
// caller waits for the batch any longer. Work is the processor time that the batch
// took, where that is all the work there was and is known; else 0.
type Execute func(ctx context.Context, inputs []oip.Tensor) (outputs []oip.Tensor, work time.Duration, err error)

// Batcher forms batches and runs them. Safe for concurrent use.
type Batcher struct {
	cfg     Config
	execute Execute
	tracer  trace.Tracer
	metrics *labelled
	begun   time.Time
	items   sync.Pool // of *item

	mu       sync.Mutex
	ready    *sync.Cond // something changed that an idle instance should look at
	released *sync.Cond // memory of callers is no longer read
	alarm    *time.Timer
	lanes    lanes
	order    order
	limit    limit
	speed    speed
	busy     []span    // by instance
	ran      time.Time // when the last batch was cut
	idle     int       // instances
	closed   bool

	instances sync.WaitGroup
}

// span is the time that a batch takes: since when, and until when by its cost.
// It is zero while the instance is idle.
type span struct {
	begun, ends time.Time
	requests    int // in the batch, for which somebody waits
}

// New starts the instances. Close stops them.
func New(cfg Config, execute Execute, tracer trace.Tracer, metrics *Metrics) (*Batcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.normal()
	b := &Batcher{
		cfg:     cfg,
		execute: execute,
		tracer:  tracer,
		begun:   time.Now(),
		ran:     time.Now(),
		lanes:   newLanes(cfg),
		order:   order{kept: cfg.PreserveOrdering},
		limit:   newLimit(cfg.MaxBatchSize),
		busy:    make([]span, cfg.Instances),
	}
	b.metrics = metrics.hold(b)
	b.metrics.limit.Set(float64(b.limit.rows))
	b.ready, b.released = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	b.alarm = time.AfterFunc(maxWait, b.wakeAll)
	for id := range cfg.Instances {
		b.instances.Go(func() { b.instance(id) })
	}
	return b, nil
}

// wakeAll takes the lock so that no instance is between looking and waiting.
func (b *Batcher) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready.Broadcast()
}

// Learn tells how long a batch of so many rows takes, before the first request
// comes: what was measured while the model warmed up.
func (b *Batcher) Learn(rows int, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lanes.seed.add(rows, took)
}

// Pending is how many requests wait.
func (b *Batcher) Pending() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes.count
}

// ages are how long the request has waited that waits longest, and how long the
// batch has been running that runs longest.
func (b *Batcher) ages(now time.Time) (waits, runs time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes.active {
		waits = max(waits, now.Sub(l.oldest()))
	}
	for _, s := range b.busy {
		if !s.begun.IsZero() {
			runs = max(runs, now.Sub(s.begun))
		}
	}
	return waits, runs
}

// Close refuses new requests, finishes those that it holds and waits for the
// instances to end. It may be called more than once and at the same time.
func (b *Batcher) Close() {
	b.mu.Lock()
	b.closed = true
	b.ready.Broadcast()
	b.mu.Unlock()
	b.instances.Wait()
	b.alarm.Stop()
	b.metrics.release()
}

// enqueue accepts the request or says why not.
func (b *Batcher) enqueue(it *item) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return failure.New(failure.Unavailable, "model %q is being unloaded", b.cfg.Model)
	}
	if waiting := b.lanes.levels.waiting[it.level]; waiting >= b.cfg.queue(it.level).MaxQueueSize {
		b.metrics.drop(dropFull)
		busy := failure.New(failure.Busy, "the queue of model %q is full: %d requests wait", b.cfg.Model, waiting)
		busy.RetryAfter = b.speed.clear(b.lanes.count, b.cfg.Instances)
		return busy
	}
	l := b.lanes.of(it.key)
	if err := b.admit(it, l); err != nil {
		b.metrics.drop(dropHopeless)
		return err
	}
	b.lanes.push(it, l, it.enqueued)
	b.order.join(it)
	if b.idle > 0 {
		b.ready.Signal()
	}
	return nil
}
