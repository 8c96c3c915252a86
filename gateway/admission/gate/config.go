package gate

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/gateway/admission/limit"
	"triptych/shared/config"
)

// Config is how requests are let to models.
type Config struct {
	// Limit bounds what is in work.
	Limit limit.Config
	// MaxQueue bounds those who wait for one model.
	MaxQueue int
	// MaxWait bounds the time for which anyone waits.
	MaxWait time.Duration
	// TargetWait is how long requests may wait while more comes than the model can
	// do; 0 is a quarter of the time that the model takes for one.
	TargetWait time.Duration
	// Weights are the shares of tenants, as "a=3,b=1"; others have 1.
	Weights string
}

var _ config.Section = (*Config)(nil)

// DefaultConfig takes a burst of a second, and in lasting overload adds a quarter to the
// latency.
func DefaultConfig() Config {
	return Config{Limit: limit.DefaultConfig(), MaxQueue: 256, MaxWait: time.Second}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	c.Limit.RegisterFlags(fs)
	fs.IntVar(&c.MaxQueue, "admission-max-queue", c.MaxQueue, "The most requests that wait for one model at the gateway; more is answered 429, RESOURCE_EXHAUSTED.")
	fs.DurationVar(&c.MaxWait, "admission-max-wait", c.MaxWait, "How long a request may wait at the gateway for its model.")
	fs.DurationVar(&c.TargetWait, "admission-target-wait", c.TargetWait, "How long requests may wait at the gateway while more comes than the model can do; 0 is a quarter of the time that the model takes.")
	fs.StringVar(&c.Weights, "tenant-weights", c.Weights, "Shares of the tenants that callers name in the header triptych-tenant, such as a=3,b=1; others have 1.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if err := c.Limit.Validate(); err != nil {
		return err
	}
	if c.MaxQueue < 0 {
		return config.Wrong("admission-max-queue", "is %d, must be 0 or more", c.MaxQueue)
	}
	if c.MaxWait <= 0 {
		return config.Wrong("admission-max-wait", "is %s, must be above 0", c.MaxWait)
	}
	if c.TargetWait < 0 {
		return config.Wrong("admission-target-wait", "is %s, must be 0 or more", c.TargetWait)
	}
	_, err := parseWeights(c.Weights)
	return err
}
