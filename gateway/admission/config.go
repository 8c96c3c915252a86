package admission

import (
	"github.com/spf13/pflag"

	"triptych/gateway/admission/gate"
	"triptych/shared/config"
)

// Config is how much may be in flight, through all doors together, and how requests
// are let to models.
type Config struct {
	// MaxBytes bounds the bytes of all requests in flight together.
	MaxBytes int64
	// MaxRequests bounds the requests in flight that do work.
	MaxRequests int
	// Models is how requests are let to each model.
	Models gate.Config
}

var _ config.Section = (*Config)(nil)

// DefaultConfig has room for several of the largest requests.
func DefaultConfig() Config {
	return Config{MaxBytes: 256 << 20, MaxRequests: 1024, Models: gate.DefaultConfig()}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.Int64Var(&c.MaxBytes, "max-bytes-in-flight", c.MaxBytes, "The most bytes of all requests in flight, over HTTP and gRPC; more is answered 429, RESOURCE_EXHAUSTED.")
	fs.IntVar(&c.MaxRequests, "max-requests-in-flight", c.MaxRequests, "The most requests in flight, over HTTP and gRPC; more is answered 429, RESOURCE_EXHAUSTED.")
	c.Models.RegisterFlags(fs)
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.MaxBytes < 1 {
		return config.Wrong("max-bytes-in-flight", "is %d, must be 1 or more", c.MaxBytes)
	}
	if c.MaxRequests < 1 {
		return config.Wrong("max-requests-in-flight", "is %d, must be 1 or more", c.MaxRequests)
	}
	return c.Models.Validate()
}
