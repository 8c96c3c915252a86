package worker

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config says how much of a service jobs may have.
type Config struct {
	// Slots is how many tasks of one model are worked on at once. 0 leaves it to the
	// model: what it can batch, or what the machine can run.
	Slots int
	// Share is the part of the slots that tasks may have while others call the same
	// model; one slot is always theirs.
	Share float64
	// Attempts is how often a step may fail before its item is given up.
	Attempts int
	// Delay is the first pause before a failed task is tried again; each further one
	// is twice as long.
	Delay time.Duration
	// Hold is how long a task is kept whose answer can't be passed on, for the next
	// queue is full, before it is given back.
	Hold time.Duration
}

var _ config.Section = (*Config)(nil)

// DefaultConfig gives jobs what nobody else uses, and a quarter while others call.
func DefaultConfig() Config {
	return Config{Share: 0.25, Attempts: 5, Delay: 500 * time.Millisecond, Hold: 30 * time.Second}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Slots, "jobs-slots", c.Slots, "How many tasks of jobs one model works on at once. 0: two batches for each instance.")
	fs.Float64Var(&c.Share, "jobs-share", c.Share, "The part of that which jobs have while others call the model.")
	fs.IntVar(&c.Attempts, "jobs-attempts", c.Attempts, "How often a step of a job's item may fail before the item is given up as a dead letter.")
	fs.DurationVar(&c.Delay, "jobs-retry-delay", c.Delay, "The first pause before a failed task is tried again; each further one is twice as long.")
	fs.DurationVar(&c.Hold, "jobs-hold", c.Hold, "How long a task is kept that can't be passed on, because the next queue is full, before it is given back.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.Slots < 0 {
		return config.Wrong("jobs-slots", "is %d, must be 0 or more", c.Slots)
	}
	if !(c.Share > 0 && c.Share <= 1) {
		return config.Wrong("jobs-share", "is %g, must be above 0 and at most 1", c.Share)
	}
	if c.Attempts < 1 {
		return config.Wrong("jobs-attempts", "is %d, must be 1 or more", c.Attempts)
	}
	if c.Delay <= 0 {
		return config.Wrong("jobs-retry-delay", "is %s, must be above 0", c.Delay)
	}
	if c.Hold <= 0 {
		return config.Wrong("jobs-hold", "is %s, must be above 0", c.Hold)
	}
	return nil
}
