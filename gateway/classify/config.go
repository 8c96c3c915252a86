package classify

import (
	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config is the settings of POST /v1/classify.
type Config struct {
	// MaxImage bounds the bytes of one image.
	MaxImage int64
	// MaxFiles bounds the parts of one form.
	MaxFiles int
	// Parallel is how many images of one form are asked for at a time.
	Parallel int
}

var _ config.Section = (*Config)(nil)

// DefaultConfig admits what cameras make.
func DefaultConfig() Config {
	return Config{MaxImage: 32 << 20, MaxFiles: 64, Parallel: 4}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.Int64Var(&c.MaxImage, "classify-max-image-bytes", c.MaxImage, "The most bytes of one image of /v1/classify; more is answered 413.")
	fs.IntVar(&c.MaxFiles, "classify-max-files", c.MaxFiles, "The most files of one form of /v1/classify; more is answered 413.")
	fs.IntVar(&c.Parallel, "classify-parallel-images", c.Parallel, "How many images of one form are classified at a time.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.MaxImage < 1 {
		return config.Wrong("classify-max-image-bytes", "is %d, must be 1 or more", c.MaxImage)
	}
	if c.MaxFiles < 1 {
		return config.Wrong("classify-max-files", "is %d, must be 1 or more", c.MaxFiles)
	}
	if c.Parallel < 1 {
		return config.Wrong("classify-parallel-images", "is %d, must be 1 or more", c.Parallel)
	}
	return nil
}
