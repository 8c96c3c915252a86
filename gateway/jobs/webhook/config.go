package webhook

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config is the settings of webhooks.
type Config struct {
	// Secrets sign what is sent; with several there is a signature by each.
	Secrets []string
	// SecretFile has more of them, one a line.
	SecretFile string
	// Timeout bounds one call, from the look-up of the name to the answer.
	Timeout time.Duration
	// AllowPrivate permits addresses that are not of the public internet.
	AllowPrivate bool
}

var _ config.Section = (*Config)(nil)

// DefaultConfig calls public addresses only, and has no secrets yet.
func DefaultConfig() Config { return Config{Timeout: 15 * time.Second} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Secrets, "webhook-secret", c.Secrets, "Secret that callbacks are signed with, as Standard Webhooks says: whsec_ and base64, or text of 24 bytes or more; several to rotate. Without one no job may have a callback.")
	fs.StringVar(&c.SecretFile, "webhook-secret-file", c.SecretFile, "File with such secrets, one a line; it is read again for each callback.")
	fs.DurationVar(&c.Timeout, "webhook-timeout", c.Timeout, "How long one try of a callback may take.")
	fs.BoolVar(&c.AllowPrivate, "webhook-allow-private", c.AllowPrivate, "Let callbacks go to private, loopback and other addresses that are not of the public internet.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	for _, secret := range c.Secrets {
		if _, err := parseSecret("webhook-secret", secret); err != nil {
			return err
		}
	}
	if c.Timeout <= 0 {
		return config.Wrong("webhook-timeout", "is %s, must be more than 0", c.Timeout)
	}
	return nil
}
