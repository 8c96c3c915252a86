package limit

import (
	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config is the bounds of a limit.
type Config struct {
	// Fixed, when above 0, is the limit for good.
	Fixed int
	// Initial is the limit before anything was measured.
	Initial int
	// Min and Max are how far the limit may go.
	Min, Max int
}

var _ config.Section = (*Config)(nil)

// DefaultConfig begins with two batches of what a usual model takes.
func DefaultConfig() Config { return Config{Initial: 32, Min: 16, Max: 512} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Fixed, "admission-limit", c.Fixed, "How many requests of one model may be in work at a time; 0 finds out by measured latency.")
	fs.IntVar(&c.Initial, "admission-initial-limit", c.Initial, "How many requests of one model may be in work before anything was measured.")
	fs.IntVar(&c.Min, "admission-min-limit", c.Min, "The least requests of one model that may be in work, whatever is measured.")
	fs.IntVar(&c.Max, "admission-max-limit", c.Max, "The most requests of one model that may be in work, whatever is measured.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	switch {
	case c.Fixed < 0:
		return config.Wrong("admission-limit", "is %d, must be 0 or more", c.Fixed)
	case c.Min < 1:
		return config.Wrong("admission-min-limit", "is %d, must be 1 or more", c.Min)
	case c.Max < c.Min:
		return config.Wrong("admission-max-limit", "is %d, must be at least --admission-min-limit, %d", c.Max, c.Min)
	case c.Initial < c.Min || c.Initial > c.Max:
		return config.Wrong("admission-initial-limit", "is %d, must be from --admission-min-limit, %d, to --admission-max-limit, %d", c.Initial, c.Min, c.Max)
	}
	return nil
}
