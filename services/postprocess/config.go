package postprocess

import (
	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// defaultMaxTopK lets a request ask for every class of ImageNet, and keeps the
// answer of a full batch within a few megabytes.
const defaultMaxTopK = 10_000

// Config is what an operator can choose for the backend. What belongs to one
// model is in the parameters of its configuration.
type Config struct {
	// MaxTopK is the greatest number of classes in the answer to one row.
	MaxTopK int
}

var _ config.Section = (*Config)(nil)

// DefaultConfig is the configuration that needs no choice.
func DefaultConfig() Config { return Config{MaxTopK: defaultMaxTopK} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.MaxTopK, "max-top-k", c.MaxTopK, "Greatest number of classes that an answer may list for one image.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.MaxTopK < 1 {
		return config.Wrong("max-top-k", "is %d, must be 1 or more", c.MaxTopK)
	}
	return nil
}
