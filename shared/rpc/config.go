// Package rpc makes both ends of every gRPC hop, so that they agree: message
// limits, keepalive, balancing, and what travels in the metadata. It knows
// nothing of models.
package rpc

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// The two ends' keepalive must match: a server that forbids a client's pings
// closes the connection with "too many pings". The server allows pings twice as
// often as clients send them.
const (
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	keepaliveMinimum = keepaliveTime / 2
)

// A connection is renewed now and then, so that replicas which joined later get
// their share.
const (
	maxConnectionAge      = 5 * time.Minute
	maxConnectionAgeGrace = time.Minute
)

// maxConcurrentCalls bounds the calls of one connection; a client waits, until its
// deadline, to send more.
const maxConcurrentCalls = 1024

// DefaultMaxMessageBytes fits a batch of 16 images of FP32 [3,512,512] (50 MB)
// and a 32 MiB photograph. Both ends have the same limit; neither is unlimited.
const DefaultMaxMessageBytes = 64 << 20

// Config is what both ends share.
type Config struct {
	MaxMessageBytes int
}

var _ config.Section = (*Config)(nil)

// DefaultConfig is the default limit.
func DefaultConfig() Config { return Config{MaxMessageBytes: DefaultMaxMessageBytes} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.MaxMessageBytes, "grpc-max-message-bytes", c.MaxMessageBytes, "Largest gRPC message, in and out. The same on every service.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.MaxMessageBytes < 1<<20 || c.MaxMessageBytes > 1<<30 {
		return config.Wrong("grpc-max-message-bytes", "is %d, must be from %d to %d", c.MaxMessageBytes, 1<<20, 1<<30)
	}
	return nil
}
