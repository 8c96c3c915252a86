package postprocess

import (
	"github.com/spf13/pflag"

	"triptych/shared/failure"
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

// DefaultConfig is the configuration that needs no choice.
func DefaultConfig() Config { return Config{MaxTopK: defaultMaxTopK} }

// RegisterFlags adds a flag for each setting; the present values are the
// defaults.
func (c *Config) RegisterFlags(flags *pflag.FlagSet) {
	flags.IntVar(&c.MaxTopK, "max-top-k", c.MaxTopK, "greatest number of classes that an answer may list for one image")
}

// Validate names the flag whose value can't be used.
func (c *Config) Validate() error {
	if c.MaxTopK < 1 {
		return failure.New(failure.Invalid, "--max-top-k is %d, must be 1 or more", c.MaxTopK)
	}
	return nil
}
