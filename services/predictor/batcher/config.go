package batcher

import (
	"math"
	"slices"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// Policy says when a batch is cut; see the package's comment.
type Policy string

// The values of the parameter batch_policy.
const (
	Adaptive Policy = "adaptive"
	Triton   Policy = "triton"
)

// PolicyParameter is the key of a configuration's `parameters` that says the
// policy.
const PolicyParameter = "batch_policy"

// QueuePolicy bounds the waiting at one priority level: Triton's
// ModelQueuePolicy.
type QueuePolicy struct {
	// MaxQueueSize is the most requests that wait.
	MaxQueueSize int
	// Timeout is the longest a request may wait; 0 is for ever.
	Timeout time.Duration
	// TimeoutDelays lets a request that has waited too long run after all others
	// of its level, instead of refusing it.
	TimeoutDelays bool
	// TimeoutOverride lets a request's own timeout shorten Timeout.
	TimeoutOverride bool
}

// Config says how the requests of one version of a model are batched.
type Config struct {
	// Model, Version and Device are labels of metrics and spans.
	Model, Version, Device string
	// MaxBatchSize is the most rows in a batch; 0 means that the tensors have
	// no batch dimension.
	MaxBatchSize int
	// Dynamic lets requests share a batch.
	Dynamic bool
	// Policy is Adaptive unless set.
	Policy Policy
	// Preferred are the sizes at which a batch is cut before its delay is over.
	Preferred []int
	// Delay is how long the oldest request may wait for others.
	Delay time.Duration
	// PreserveOrdering answers requests in the order in which they came.
	PreserveOrdering bool
	// Split runs a request of more rows than MaxBatchSize in parts.
	Split bool
	// Levels is the number of priority levels, of which 1 is the most urgent; 0
	// is one level. DefaultLevel is that of requests that name none.
	Levels, DefaultLevel int
	// QueuePolicy is for the levels that Queues has not.
	QueuePolicy
	Queues map[int]QueuePolicy
	// Instances is how many batches may run at once.
	Instances int
}

// FromModel reads the fields of a model's configuration that are about
// batching. Where it sets no bound on the queue, maxQueueSize is the bound.
func FromModel(cfg *inference.ModelConfig, version string, maxQueueSize, instances int) Config {
	dynamic := cfg.GetDynamicBatching()
	c := Config{
		Model:            cfg.GetName(),
		Version:          version,
		MaxBatchSize:     int(cfg.GetMaxBatchSize()),
		Dynamic:          dynamic != nil && cfg.GetMaxBatchSize() > 1,
		Policy:           Policy(cfg.GetParameters()[PolicyParameter].GetStringValue()),
		Delay:            microseconds(dynamic.GetMaxQueueDelayMicroseconds()),
		PreserveOrdering: dynamic.GetPreserveOrdering(),
		Levels:           int(min(dynamic.GetPriorityLevels(), maxLevels+1)),
		DefaultLevel:     int(min(dynamic.GetDefaultPriorityLevel(), maxLevels+1)),
		QueuePolicy:      queuePolicy(dynamic.GetDefaultQueuePolicy(), maxQueueSize),
		Split:            modelconfig.Splits(cfg),
		Instances:        instances,
	}
	for _, size := range dynamic.GetPreferredBatchSize() {
		c.Preferred = append(c.Preferred, int(size))
	}
	for level, policy := range dynamic.GetPriorityQueuePolicy() {
		if c.Queues == nil {
			c.Queues = map[int]QueuePolicy{}
		}
		c.Queues[int(min(level, maxLevels+1))] = queuePolicy(policy, maxQueueSize)
	}
	return c
}

func queuePolicy(p *inference.ModelQueuePolicy, maxQueueSize int) QueuePolicy {
	own := QueuePolicy{
		MaxQueueSize:    maxQueueSize,
		Timeout:         microseconds(p.GetDefaultTimeoutMicroseconds()),
		TimeoutDelays:   p.GetTimeoutAction() == inference.ModelQueuePolicy_DELAY,
		TimeoutOverride: p.GetAllowTimeoutOverride(),
	}
	if n := p.GetMaxQueueSize(); n > 0 {
		own.MaxQueueSize = int(n)
	}
	return own
}

// maxLevels bounds the priority levels: each costs a little for every batch.
const maxLevels = 1000

// Validate checks the bounds.
func (c Config) Validate() error {
	switch {
	case c.MaxBatchSize < 0:
		return failure.New(failure.Invalid, "model %q: max_batch_size is %d, must be 0 or more", c.Model, c.MaxBatchSize)
	case c.Instances < 1:
		return failure.New(failure.Invalid, "model %q: at least 1 instance must run, not %d", c.Model, c.Instances)
	case c.Levels < 0 || c.Levels > maxLevels:
		return failure.New(failure.Invalid, "model %q: priority_levels must be from 0 to %d", c.Model, maxLevels)
	case c.Levels > 0 && (c.DefaultLevel < 1 || c.DefaultLevel > c.Levels):
		return failure.New(failure.Invalid, "model %q: default_priority_level is %d, must be from 1 to priority_levels, which is %d", c.Model, c.DefaultLevel, c.Levels)
	case c.Policy != "" && c.Policy != Adaptive && c.Policy != Triton:
		return failure.New(failure.Invalid, "model %q: parameter %q is %q, must be %s or %s", c.Model, PolicyParameter, c.Policy, Adaptive, Triton)
	}
	for _, size := range c.Preferred {
		if size < 1 || size > c.MaxBatchSize {
			return failure.New(failure.Invalid, "model %q: preferred_batch_size %d must be from 1 to max_batch_size, which is %d", c.Model, size, c.MaxBatchSize)
		}
	}
	for level := range max(c.Levels, 1) {
		if p := c.queue(level + 1); p.MaxQueueSize < 1 {
			return failure.New(failure.Invalid, "model %q: the queue must hold at least 1 request, not %d", c.Model, p.MaxQueueSize)
		}
	}
	return nil
}

// bulkLevel is the level of the work of jobs: below all that somebody waits for.
func (c Config) bulkLevel() int { return max(c.Levels, 1) + 1 }

// queue is the policy of a level. The work of jobs is bounded by those who bring it,
// and waits for as long as it must.
func (c Config) queue(level int) QueuePolicy {
	if level == c.bulkLevel() {
		return QueuePolicy{MaxQueueSize: math.MaxInt}
	}
	if p, ok := c.Queues[level]; ok {
		return p
	}
	return c.QueuePolicy
}

// normal is c with what follows from its fields: sorted sizes, one level at
// least, and no delay for requests that share nothing.
func (c Config) normal() Config {
	c.Preferred = slices.Sorted(slices.Values(c.Preferred))
	if !c.Dynamic {
		c.Delay, c.Preferred = 0, nil
	}
	if c.Policy == "" {
		c.Policy = Adaptive
	}
	if c.Levels == 0 {
		c.Levels, c.DefaultLevel = 1, 1
	}
	return c
}

// inOrder tells whether requests of a level run in the order in which they came,
// and not by their deadlines.
func (c Config) inOrder() bool { return c.PreserveOrdering || c.Policy == Triton }

// maxWait bounds what a configuration can ask for, so that no sum of times
// overflows.
const maxWait = 24 * time.Hour

func microseconds(n uint64) time.Duration {
	if n > uint64(maxWait/time.Microsecond) {
		return maxWait
	}
	return time.Duration(n) * time.Microsecond
}
