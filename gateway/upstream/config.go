// Package upstream knows the services behind the gateway: it asks each replica
// what it serves, keeps the answers, and makes calls. What is served where is
// learned, never told.
package upstream

import (
	"net"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"triptych/gateway/upstream/budget"
	"triptych/shared/config"
)

// Config says where the services are, and how calls are spread over them.
type Config struct {
	// Addresses are host:port; dns:///host:port means the same. A name with many
	// addresses is many replicas.
	Addresses []string
	// Interval is the pause between two rounds of asking.
	Interval time.Duration
	// StallAfter is the least time for which a replica may answer none of its calls,
	// while others answer, before calls go elsewhere; 0 never leaves one for that.
	StallAfter time.Duration
	// EjectTime is how long a replica gets no calls when it is left for the first time.
	EjectTime time.Duration
	// MaxEjectedPercent of the replicas that serve a model may be left for failures.
	// One may always be, unless it is the last.
	MaxEjectedPercent int
	// Retry bounds how many calls are made a second time, for each upstream.
	Retry budget.Config
	// HedgePercentile is which part of the calls, in percent, are answered before a
	// second one is made; 0 makes none but for replicas that are silent.
	HedgePercentile float64
}

var _ config.Section = (*Config)(nil)

// DefaultConfig asks nobody. A second call is made only when a replica is silent: on
// machines whose work is computing, one more call for each slow one makes the others
// slower.
func DefaultConfig() Config {
	return Config{
		Interval: time.Second, StallAfter: 200 * time.Millisecond,
		EjectTime: time.Second, MaxEjectedPercent: 50,
		Retry: budget.Config{Percent: 20, PerSecond: 10},
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Addresses, "upstreams", c.Addresses, "Services to route to, HOST:PORT,... A name with many addresses is balanced request by request.")
	fs.DurationVar(&c.Interval, "discovery-interval", c.Interval, "Pause between two rounds of asking the upstreams what they serve.")
	fs.DurationVar(&c.StallAfter, "upstream-stall-after", c.StallAfter, "The least time for which a replica may answer nothing, while others answer, before its calls go elsewhere. 0 never leaves one for that.")
	fs.DurationVar(&c.EjectTime, "upstream-eject-time", c.EjectTime, "How long a replica that failed gets no calls, the first time.")
	fs.IntVar(&c.MaxEjectedPercent, "upstream-max-ejected-percent", c.MaxEjectedPercent, "The most of the replicas of a model that may be left for failures. One may always be, unless it is the last.")
	fs.IntVar(&c.Retry.Percent, "upstream-retry-percent", c.Retry.Percent, "How many of the calls of the last ten seconds may be made a second time, in percent.")
	fs.IntVar(&c.Retry.PerSecond, "upstream-retries-per-second", c.Retry.PerSecond, "How many more may, of each upstream, however few calls there are.")
	fs.Float64Var(&c.HedgePercentile, "upstream-hedge-percentile", c.HedgePercentile, "Make a second call when one takes longer than so many percent of them did, such as 99. 0 does so only when a replica is silent.")
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
	return c.validateBalance()
}

func (c *Config) validateBalance() error {
	switch {
	case c.StallAfter < 0 || c.StallAfter > 0 && c.StallAfter < glance:
		return config.Wrong("upstream-stall-after", "is %s, must be 0, or %s or more", c.StallAfter, glance)
	case c.EjectTime < glance:
		return config.Wrong("upstream-eject-time", "is %s, must be %s or more", c.EjectTime, glance)
	case c.MaxEjectedPercent < 0 || c.MaxEjectedPercent > 100:
		return config.Wrong("upstream-max-ejected-percent", "is %d, must be from 0 to 100", c.MaxEjectedPercent)
	case c.Retry.Percent < 0 || c.Retry.Percent > 100:
		return config.Wrong("upstream-retry-percent", "is %d, must be from 0 to 100", c.Retry.Percent)
	case c.Retry.PerSecond < 0 || c.Retry.PerSecond > 1e6:
		return config.Wrong("upstream-retries-per-second", "is %d, must be from 0 to 1000000", c.Retry.PerSecond)
	case !(c.HedgePercentile >= 0 && c.HedgePercentile < 100):
		return config.Wrong("upstream-hedge-percentile", "is %v, must be from 0 to below 100", c.HedgePercentile)
	}
	return nil
}
