package stage

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
	"triptych/shared/modelserver"
)

// The model control modes.
const (
	controlNone     = "none"
	controlPoll     = "poll"
	controlExplicit = "explicit"
)

// everyModel is what --load-model says for all.
const everyModel = "*"

// Control says which models are loaded, when and how.
type Control struct {
	// Mode is Triton's model control mode: none, poll or explicit.
	Mode string
	// Load are the models that explicit control loads at the start; "*", alone, is
	// all of them.
	Load []string
	// PollInterval is the pause between two looks at the repository.
	PollInterval time.Duration
	// Settle is how long a changed model's files must have stayed as they are.
	Settle time.Duration
	// Threads is how many models are loaded at once.
	Threads int
	// Retries is how often a version that could not be loaded is tried again.
	Retries int
	// Timeout is how long one try to load a model may take; 0 sets no bound.
	Timeout time.Duration
	// ExitOnError ends the service when a model can't be loaded at the start.
	ExitOnError bool
}

var _ config.Section = (*Control)(nil)

// DefaultControl loads everything once.
func DefaultControl() Control {
	return Control{Mode: controlNone, PollInterval: 15 * time.Second, Settle: time.Second, Threads: 2, Timeout: 10 * time.Minute}
}

// RegisterFlags implements config.Section.
func (c *Control) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Mode, "model-control-mode", c.Mode, "How models change: none (loaded at the start), poll (what changes in the repository is followed), explicit (by request).")
	fs.StringSliceVar(&c.Load, "load-model", c.Load, "Model to load at the start under explicit control, an ensemble with its steps. May be given more than once; * is all.")
	fs.DurationVar(&c.PollInterval, "repository-poll-interval", c.PollInterval, "Pause between two looks at the repository, when it is polled.")
	fs.DurationVar(&c.Settle, "repository-settle-time", c.Settle, "How long the files of a model that changed must have stayed as they are before it is loaded.")
	fs.IntVar(&c.Threads, "model-load-threads", c.Threads, "How many models are loaded at once.")
	fs.IntVar(&c.Retries, "model-load-retry-count", c.Retries, "How often a version that could not be loaded is tried again.")
	fs.DurationVar(&c.Timeout, "model-load-timeout", c.Timeout, "How long one try to load and warm up a model may take, so that one that never gets ready does not hold up the others. 0 sets no bound.")
	fs.BoolVar(&c.ExitOnError, "exit-on-error", c.ExitOnError, "End when a model can't be loaded at the start.")
}

// Validate implements config.Section.
func (c *Control) Validate() error {
	if !slices.Contains([]string{controlNone, controlPoll, controlExplicit}, c.Mode) {
		return config.Wrong("model-control-mode", "is %q, must be none, poll or explicit", c.Mode)
	}
	if len(c.Load) > 0 && c.Mode != controlExplicit {
		return config.Wrong("load-model", "goes only with --model-control-mode explicit")
	}
	if slices.Contains(c.Load, everyModel) && len(c.Load) > 1 {
		return config.Wrong("load-model", "is %q and names beside it, must be one or the other", everyModel)
	}
	if c.PollInterval < 10*time.Millisecond {
		return config.Wrong("repository-poll-interval", "is %s, must be 10ms or more", c.PollInterval)
	}
	if c.Settle < 0 {
		return config.Wrong("repository-settle-time", "is %s, must not be negative", c.Settle)
	}
	if c.Threads < 1 {
		return config.Wrong("model-load-threads", "is %d, must be 1 or more", c.Threads)
	}
	if c.Retries < 0 {
		return config.Wrong("model-load-retry-count", "is %d, must not be negative", c.Retries)
	}
	if c.Timeout < 0 {
		return config.Wrong("model-load-timeout", "is %s, must not be negative", c.Timeout)
	}
	return nil
}

func (c *Control) policy() modelserver.LoadPolicy {
	return modelserver.LoadPolicy{Threads: c.Threads, Retries: c.Retries, Timeout: c.Timeout}
}

// some tells whether not all models are loaded at the start.
func (c *Control) some() bool {
	return c.Mode == controlExplicit && !slices.Contains(c.Load, everyModel)
}
