package feed

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	pb "triptych/proto/jobs"
	"triptych/shared/config"
)

// Config says how jobs are fed.
type Config struct {
	// Credit is how many items of the jobs of one model are on their way at once.
	Credit int
	// LostAfter is after how long without a verdict an item on its way is looked for.
	LostAfter time.Duration
	// Takeover is after how long without a sign of whoever feeds another does.
	Takeover time.Duration

	// Callback is told of ended jobs that ask for it; nil for nobody. No flag sets it.
	Callback Caller
	// CallbackDelay is the first pause before a callback that failed is tried again;
	// each further one is twice as long. No flag sets it.
	CallbackDelay time.Duration
	// Orphans is for how long what belongs to no job is left alone: its job may be
	// on its way. No flag sets it.
	Orphans time.Duration
	// Collect is the pause between two looks for what can be deleted. No flag sets it.
	Collect time.Duration
	// Now is the time of day, for deadlines. No flag sets it.
	Now func() time.Time
}

// Caller calls the callback of a job that has ended. After an error of a retryable
// Kind it is called again later, not before the time that the error says; any other
// is final.
type Caller interface {
	Call(ctx context.Context, job *pb.Job) error
}

var _ config.Section = (*Config)(nil)

// DefaultConfig keeps the stages of one machine busy.
func DefaultConfig() Config {
	return Config{
		Credit: 256, LostAfter: 10 * time.Second, Takeover: 10 * time.Second,
		CallbackDelay: 10 * time.Second, Orphans: time.Hour, Collect: time.Minute, Now: time.Now,
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Credit, "jobs-credit", c.Credit, "How many items of the jobs of one model are on their way through its steps at once.")
	fs.DurationVar(&c.LostAfter, "jobs-lost-after", c.LostAfter, "After how long an item on its way is looked for, and started again if it was lost.")
	fs.DurationVar(&c.Takeover, "jobs-takeover-after", c.Takeover, "After how long without a sign of the gateway that feeds jobs another one does.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.Credit < 8 {
		return config.Wrong("jobs-credit", "is %d, must be 8 or more", c.Credit)
	}
	if c.LostAfter < time.Second {
		return config.Wrong("jobs-lost-after", "is %s, must be 1s or more", c.LostAfter)
	}
	if c.Takeover < time.Second {
		return config.Wrong("jobs-takeover-after", "is %s, must be 1s or more", c.Takeover)
	}
	return nil
}
