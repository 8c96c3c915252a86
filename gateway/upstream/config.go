// Package upstream knows the services behind the gateway: it asks each replica
// what it serves, keeps the answers, and makes calls. What is served where is
// learned, never told.
package upstream

import (
	"net"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config says where the services are.
type Config struct {
	// Addresses are host:port; dns:///host:port means the same. A name with many
	// addresses is many replicas.
	Addresses []string
	// Interval is the pause between two rounds of asking.
	Interval time.Duration
}

var _ config.Section = (*Config)(nil)

// DefaultConfig asks nobody.
func DefaultConfig() Config { return Config{Interval: time.Second} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Addresses, "upstreams", c.Addresses, "Services to route to, HOST:PORT,... A name with many addresses is balanced request by request.")
	fs.DurationVar(&c.Interval, "discovery-interval", c.Interval, "Pause between two rounds of asking the upstreams what they serve.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	for _, a := range c.Addresses {
		host, port, err := net.SplitHostPort(hostPort(a))
		if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || host == "" {
			return config.Wrong("upstreams", "has %q, which is not HOST:PORT", a)
		}
	}
	if c.Interval < 10*time.Millisecond {
		return config.Wrong("discovery-interval", "is %s, must be 10ms or more", c.Interval)
	}
	return nil
}
