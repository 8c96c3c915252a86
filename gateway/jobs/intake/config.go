package intake

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config bounds what one job may be, and what all that are coming in may take.
type Config struct {
	// MaxItems bounds the items of one job.
	MaxItems int
	// MaxBytes bounds the body of one job, and what an archive in it unpacks to.
	MaxBytes int64
	// MaxImage bounds one image. Its flag is that of /v1/classify.
	MaxImage int64
	// MaxRatio bounds how many times its own size an archive unpacks to.
	MaxRatio int64
	// Uploads is how many jobs may come in at once.
	Uploads int
	// SpoolBytes bounds the ZIP archives that lie on the disk at once.
	SpoolBytes int64
	// Timeout is how long the body of one job may take to come.
	Timeout time.Duration
	// Deadline is by when a job that says nothing must be done, and MaxDeadline the
	// latest that one may ask for.
	Deadline, MaxDeadline time.Duration
}

var _ config.Section = (*Config)(nil)

// DefaultConfig takes a night's work.
func DefaultConfig() Config {
	return Config{
		MaxItems:    1_000_000,
		MaxBytes:    4 << 30,
		MaxImage:    32 << 20,
		MaxRatio:    200,
		Uploads:     8,
		SpoolBytes:  2 << 30,
		Timeout:     time.Hour,
		Deadline:    24 * time.Hour,
		MaxDeadline: 7 * 24 * time.Hour,
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.MaxItems, "jobs-max-items", c.MaxItems, "The most items of one job; more is answered 413.")
	fs.Int64Var(&c.MaxBytes, "jobs-max-bytes", c.MaxBytes, "The most bytes of the body of one job, and of what an archive in it unpacks to; more is answered 413.")
	fs.Int64Var(&c.MaxRatio, "jobs-max-ratio", c.MaxRatio, "How many times its own size an archive may unpack to; more is answered 413.")
	fs.IntVar(&c.Uploads, "jobs-uploads", c.Uploads, "How many jobs may come in at once; more is answered 429.")
	fs.Int64Var(&c.SpoolBytes, "jobs-spool-bytes", c.SpoolBytes, "The most bytes of ZIP archives that lie in the folder for temporary files at once; more is answered 429.")
	fs.DurationVar(&c.Timeout, "jobs-upload-timeout", c.Timeout, "How long the body of one job may take to come; longer is answered 408.")
	fs.DurationVar(&c.Deadline, "jobs-deadline", c.Deadline, "By when a job that names no deadline must be done.")
	fs.DurationVar(&c.MaxDeadline, "jobs-max-deadline", c.MaxDeadline, "The latest deadline that a job may name; a later one is answered 400.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	for _, b := range []struct {
		flag         string
		value, least int64
	}{
		{"jobs-max-items", int64(c.MaxItems), 1},
		{"jobs-max-bytes", c.MaxBytes, 1},
		{"classify-max-image-bytes", c.MaxImage, 1},
		{"jobs-max-ratio", c.MaxRatio, 1},
		{"jobs-uploads", int64(c.Uploads), 1},
		{"jobs-spool-bytes", c.SpoolBytes, 1},
	} {
		if b.value < b.least {
			return config.Wrong(b.flag, "is %d, must be %d or more", b.value, b.least)
		}
	}
	if c.MaxItems > 1<<31 {
		return config.Wrong("jobs-max-items", "is %d, must be %d or less", c.MaxItems, 1<<31)
	}
	if c.Timeout <= 0 {
		return config.Wrong("jobs-upload-timeout", "is %s, must be above 0", c.Timeout)
	}
	if c.Deadline <= 0 {
		return config.Wrong("jobs-deadline", "is %s, must be above 0", c.Deadline)
	}
	if c.MaxDeadline < c.Deadline {
		return config.Wrong("jobs-max-deadline", "is %s, must be at least --jobs-deadline, %s", c.MaxDeadline, c.Deadline)
	}
	return nil
}
