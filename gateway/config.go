// Package gateway is the front of the system: it takes requests over HTTP and
// gRPC, runs ensembles, and routes everything else to the services behind it.
package gateway

import (
	"github.com/spf13/pflag"

	"triptych/gateway/admission"
	"triptych/gateway/front"
	"triptych/gateway/jobs"
	"triptych/gateway/upstream"
	"triptych/shared/config"
)

// Config is what the gateway is told beside what every service is.
type Config struct {
	Front     front.Config
	Admission admission.Config
	Upstreams upstream.Config
	Jobs      jobs.Config
}

var _ config.Section = (*Config)(nil)

// DefaultConfig serves on loopback and routes to nobody.
func DefaultConfig() Config {
	return Config{Front: front.DefaultConfig(), Admission: admission.DefaultConfig(), Upstreams: upstream.DefaultConfig(), Jobs: jobs.DefaultConfig()}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	c.Front.RegisterFlags(fs)
	c.Admission.RegisterFlags(fs)
	c.Upstreams.RegisterFlags(fs)
	c.Jobs.RegisterFlags(fs)
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if err := config.Validate(&c.Front, &c.Admission, &c.Upstreams, &c.Jobs); err != nil {
		return err
	}
	if c.Admission.MaxBytes < c.Front.MaxBody {
		return config.Wrong("max-bytes-in-flight", "is %d, must be at least --http-max-body-bytes, %d", c.Admission.MaxBytes, c.Front.MaxBody)
	}
	return nil
}
