package jobs

import (
	"github.com/spf13/pflag"

	"triptych/gateway/jobs/feed"
	"triptych/gateway/jobs/intake"
	"triptych/gateway/jobs/webhook"
	"triptych/shared/config"
)

// Config is what the gateway is told of jobs.
type Config struct {
	Intake  intake.Config
	Feed    feed.Config
	Webhook webhook.Config
}

var _ config.Section = (*Config)(nil)

// DefaultConfig takes jobs of any size that the job store has room for.
func DefaultConfig() Config {
	return Config{Intake: intake.DefaultConfig(), Feed: feed.DefaultConfig(), Webhook: webhook.DefaultConfig()}
}

func (c *Config) sections() []config.Section { return []config.Section{&c.Intake, &c.Feed, &c.Webhook} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	for _, s := range c.sections() {
		s.RegisterFlags(fs)
	}
}

// Validate implements config.Section.
func (c *Config) Validate() error { return config.Validate(c.sections()...) }
