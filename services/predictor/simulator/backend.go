package simulator

import (
	"context"
	"iter"
	"strconv"
	"time"

	"triptych/services/predictor/batcher"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
)

// Name is what a configuration's `backend` says.
const Name = "simulator"

// Config is what the service, not the model, says.
type Config struct {
	// MaxQueueSize is the most requests that wait for one version of a model
	// whose configuration sets no bound.
	MaxQueueSize int
	// GoTimers waits by Go's timers, which may be 1 ms late on an idle machine,
	// and not by the kernel's: for tests whose clock is testing/synctest's.
	GoTimers bool
}

var _ modelserver.Backend = (*Backend)(nil)

// Backend makes models that only take their time. Safe for concurrent use.
type Backend struct {
	cfg     Config
	tel     *telemetry.Telemetry
	batches *batcher.Metrics
}

// NewBackend makes the backend; its batches are counted in metrics, which it may
// share with other backends.
func NewBackend(cfg Config, tel *telemetry.Telemetry, metrics *batcher.Metrics) *Backend {
	return &Backend{cfg: cfg, tel: tel, batches: metrics}
}

// Name is "simulator".
func (b *Backend) Name() string { return Name }

// Load makes one version runnable. It needs no files.
func (b *Backend) Load(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	s, err := readSettings(spec.Config)
	if err != nil {
		return nil, err
	}
	accelerator, err := newDevice(s, b.waiter())
	if err != nil {
		return nil, err
	}
	version := strconv.FormatInt(spec.Version, 10)
	batching := batcher.FromModel(spec.Config, version, b.cfg.MaxQueueSize, s.instances)
	batches, err := batcher.New(batching, accelerator.run, b.tel.Tracer, b.batches)
	if err != nil {
		accelerator.close()
		return nil, err
	}
	for rows := range batchSizes(int(spec.Config.GetMaxBatchSize())) {
		batches.Learn(rows, s.fixed+time.Duration(rows)*s.perItem)
	}
	return &model{device: accelerator, batcher: batches}, nil
}

// batchSizes are 1, 2, 4 and so on to the largest. A real device is timed while it
// warms up; this one knows how long it will take.
func batchSizes(most int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for rows := 1; rows < most; rows *= 2 {
			if !yield(rows) {
				return
			}
		}
		yield(max(most, 1))
	}
}

func (b *Backend) waiter() func() (waiter, error) {
	if b.cfg.GoTimers {
		return func() (waiter, error) { return goTimers{}, nil }
	}
	return newWaiter
}
