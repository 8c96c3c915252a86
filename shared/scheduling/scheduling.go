// Package scheduling says to the kernel how the threads of a service share cores
// with those of others. It is about the whole process.
package scheduling

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// The classes, by Linux's names (sched(7)).
const (
	// Batch lets a thread that runs go on when another wakes up: SCHED_BATCH.
	Batch = "batch"
	// Normal leaves the process as it was started.
	Normal = "normal"
)

// Config is how the process is scheduled.
type Config struct {
	// Class is Batch or Normal.
	Class string
}

var _ config.Section = (*Config)(nil)

// DefaultConfig suits services that share cores: each hop of a request wakes
// somebody up, and where all cores are busy each wake would throw a decoder or an
// operator of a model off its core, to no one's gain.
func DefaultConfig() Config { return Config{Class: Batch} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Class, "scheduling", c.Class, "How threads share cores that are all busy: batch (who runs is not interrupted for who wakes up; Linux) or normal.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if known := []string{Batch, Normal}; !slices.Contains(known, c.Class) {
		return config.Wrong("scheduling", "is %q, must be %s", c.Class, strings.Join(known, " or "))
	}
	return nil
}

// Apply puts all threads of this process, and those that they will start, into the
// class. Who was started with a policy of its own, such as a real-time one, keeps
// that. A system without such classes is left as it is. The error, which is no
// reason not to serve, is the kernel's refusal.
func (c *Config) Apply() error {
	if c.Class != Batch {
		return nil
	}
	return batch()
}
