package batcher

import (
	"slices"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Config says how the requests of one version of a model are batched.
type Config struct {
	// Model and Version are the labels of metrics and spans.
	Model   string
	Version string
	// MaxBatchSize is the most rows in a batch; 0 means that the tensors have
	// no batch dimension.
	MaxBatchSize int
	// Dynamic lets requests share a batch.
	Dynamic bool
	// Preferred are the sizes at which a batch is cut before its delay is over.
	Preferred []int
	// Delay is how long the oldest request may wait for others.
	Delay time.Duration
	// MaxQueueSize is the most requests that wait.
	MaxQueueSize int
	// Timeout is the longest a request may wait; 0 is for ever.
	Timeout time.Duration
	// TimeoutDelays moves a request that has waited too long to the back of its
	// lane, once, instead of refusing it.
	TimeoutDelays bool
	// TimeoutOverride lets a request's own timeout shorten Timeout.
	TimeoutOverride bool
	// Instances is how many batches may run at once.
	Instances int
}

// FromModel reads the fields of a model's configuration that are about
// batching. Where it sets no bound on the queue, maxQueueSize is the bound.
func FromModel(cfg *inference.ModelConfig, version string, maxQueueSize, instances int) Config {
	dynamic := cfg.GetDynamicBatching()
	policy := dynamic.GetDefaultQueuePolicy()
	c := Config{
		Model:           cfg.GetName(),
		Version:         version,
		MaxBatchSize:    int(cfg.GetMaxBatchSize()),
		Dynamic:         dynamic != nil && cfg.GetMaxBatchSize() > 1,
		Delay:           microseconds(dynamic.GetMaxQueueDelayMicroseconds()),
		MaxQueueSize:    maxQueueSize,
		Timeout:         microseconds(policy.GetDefaultTimeoutMicroseconds()),
		TimeoutDelays:   policy.GetTimeoutAction() == inference.ModelQueuePolicy_DELAY,
		TimeoutOverride: policy.GetAllowTimeoutOverride(),
		Instances:       instances,
	}
	for _, size := range dynamic.GetPreferredBatchSize() {
		c.Preferred = append(c.Preferred, int(size))
	}
	if n := policy.GetMaxQueueSize(); n > 0 {
		c.MaxQueueSize = int(n)
	}
	return c
}

// Validate checks the bounds.
func (c Config) Validate() error {
	switch {
	case c.MaxBatchSize < 0:
		return failure.New(failure.Invalid, "model %q: max_batch_size is %d, must be 0 or more", c.Model, c.MaxBatchSize)
	case c.MaxQueueSize < 1:
		return failure.New(failure.Invalid, "model %q: the queue must hold at least 1 request, not %d", c.Model, c.MaxQueueSize)
	case c.Instances < 1:
		return failure.New(failure.Invalid, "model %q: at least 1 instance must run, not %d", c.Model, c.Instances)
	}
	for _, size := range c.Preferred {
		if size < 1 || size > c.MaxBatchSize {
			return failure.New(failure.Invalid, "model %q: preferred_batch_size %d must be from 1 to max_batch_size, which is %d", c.Model, size, c.MaxBatchSize)
		}
	}
	return nil
}

// normal is c with what follows from its fields: sorted sizes, and no delay for
// requests that share nothing.
func (c Config) normal() Config {
	c.Preferred = slices.Sorted(slices.Values(c.Preferred))
	if !c.Dynamic {
		c.Delay, c.Preferred = 0, nil
	}
	return c
}

// maxWait bounds what a configuration can ask for, so that no sum of times
// overflows.
const maxWait = 24 * time.Hour

func microseconds(n uint64) time.Duration {
	if n > uint64(maxWait/time.Microsecond) {
		return maxWait
	}
	return time.Duration(n) * time.Microsecond
}
