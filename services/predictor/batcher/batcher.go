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
// is not 0, every output must have as many rows as the inputs. The context ends
// when no caller waits for the batch any longer.
type Execute func(ctx context.Context, inputs []oip.Tensor) ([]oip.Tensor, error)

// Batcher forms batches and runs them. Safe for concurrent use.
type Batcher struct {
	cfg     Config
	execute Execute
	tracer  trace.Tracer
	metrics *labelled

	mu     sync.Mutex
	ready  *sync.Cond // something changed that an idle instance should look at
	alarm  *time.Timer
	lanes  lanes
	speed  speed
	closed bool

	instances sync.WaitGroup
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
		metrics: metrics.hold(cfg.Model, cfg.Version),
		lanes:   newLanes(cfg),
	}
	b.ready = sync.NewCond(&b.mu)
	b.alarm = time.AfterFunc(maxWait, b.wakeAll)
	for range cfg.Instances {
		b.instances.Go(b.instance)
	}
	return b, nil
}

// wakeAll takes the lock so that no instance is between looking and waiting.
func (b *Batcher) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready.Broadcast()
}

// Pending is how many requests wait.
func (b *Batcher) Pending() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes.count
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
	if waiting := b.lanes.count; waiting >= b.cfg.MaxQueueSize {
		b.metrics.drop(dropFull)
		busy := failure.New(failure.Busy, "the queue of model %q is full: %d requests wait", b.cfg.Model, waiting)
		busy.RetryAfter = b.speed.clear(waiting, b.cfg.Instances)
		return busy
	}
	b.lanes.push(it)
	b.ready.Signal()
	return nil
}
