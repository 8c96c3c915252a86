// Package rpc makes both ends of every gRPC hop, so that they agree: message
// limits, keepalive, what is a failure of the connection, and what travels in the
// metadata. It knows nothing of models.
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

// maxConcurrentCalls bounds the calls of one connection; a client waits, until its
// deadline, to send more.
const maxConcurrentCalls = 1024

// The windows are how much a client may send before what it sent is read: enough
// for some tensors at once, so that none of them waits for leave in the middle.
// They are fixed: to measure what the way takes, as gRPC does otherwise, costs a
// ping with each tensor. The buffer takes such a tensor in one read.
const (
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
	readBuffer       = 256 << 10
)

// DefaultMaxMessageBytes fits a batch of 16 images of FP32 [3,512,512] (50 MB)
// and a 32 MiB photograph. Both ends have the same limit; neither is unlimited.
const DefaultMaxMessageBytes = 64 << 20

// DefaultRequestTimeout is ample for a batch on a CPU.
const DefaultRequestTimeout = 30 * time.Second

// Config is what both ends share.
type Config struct {
	// MaxMessageBytes bounds a message on both ends.
	MaxMessageBytes int
	// RequestTimeout bounds a request that is served, whatever deadline its caller
	// set.
	RequestTimeout time.Duration
}

var _ config.Section = (*Config)(nil)

// DefaultConfig is the default limits.
func DefaultConfig() Config {
	return Config{MaxMessageBytes: DefaultMaxMessageBytes, RequestTimeout: DefaultRequestTimeout}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.MaxMessageBytes, "grpc-max-message-bytes", c.MaxMessageBytes, "Largest gRPC message, in and out. The same on every service.")
	fs.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout, "The longest that a request may take; a caller may ask for less.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.MaxMessageBytes < 1<<20 || c.MaxMessageBytes > 1<<30 {
		return config.Wrong("grpc-max-message-bytes", "is %d, must be from %d to %d", c.MaxMessageBytes, 1<<20, 1<<30)
	}
	if c.RequestTimeout <= 0 {
		return config.Wrong("request-timeout", "is %s, must be above 0", c.RequestTimeout)
	}
	return nil
}
