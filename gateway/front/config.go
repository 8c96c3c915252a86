package front

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/gateway/classify"
	"triptych/shared/config"
)

// Config is the settings of the HTTP front.
type Config struct {
	// Address is where it listens.
	Address string
	// MaxBody bounds one request's body, also after it was decompressed.
	MaxBody int64
	// MaxBytes bounds the bodies of all requests in flight together.
	MaxBytes int64
	// MaxRequests bounds the requests in flight that do work.
	MaxRequests int
	// RequestTimeout bounds a request, whatever deadline the caller asks for.
	RequestTimeout time.Duration
	// HeaderTimeout and BodyTimeout are how long a caller may take to send a
	// request's headers and its body.
	HeaderTimeout, BodyTimeout time.Duration
	// WriteTimeout is how long a caller may take to read an answer.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request.
	IdleTimeout time.Duration
	// Classify is the settings of POST /v1/classify.
	Classify classify.Config
}

var _ config.Section = (*Config)(nil)

// DefaultConfig admits phone photos and tensors of a batch of images.
func DefaultConfig() Config {
	return Config{
		Address:        config.HTTPAddress,
		MaxBody:        64 << 20,
		MaxBytes:       256 << 20,
		MaxRequests:    1024,
		RequestTimeout: 30 * time.Second,
		HeaderTimeout:  10 * time.Second,
		BodyTimeout:    30 * time.Second,
		WriteTimeout:   30 * time.Second,
		IdleTimeout:    2 * time.Minute,
		Classify:       classify.DefaultConfig(),
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Address, "http-address", c.Address, "Where to listen for HTTP.")
	fs.Int64Var(&c.MaxBody, "http-max-body-bytes", c.MaxBody, "The most bytes of one request's body; more is answered 413.")
	fs.Int64Var(&c.MaxBytes, "http-max-bytes-in-flight", c.MaxBytes, "The most bytes of all bodies in flight; more is answered 429.")
	fs.IntVar(&c.MaxRequests, "http-max-requests-in-flight", c.MaxRequests, "The most requests in flight; more is answered 429.")
	fs.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout, "The longest that a request over HTTP may take; a caller may ask for less.")
	fs.DurationVar(&c.HeaderTimeout, "http-header-timeout", c.HeaderTimeout, "How long a caller may take to send a request's headers.")
	fs.DurationVar(&c.BodyTimeout, "http-body-timeout", c.BodyTimeout, "How long a caller may take to send a request's body; longer is answered 408.")
	fs.DurationVar(&c.WriteTimeout, "http-write-timeout", c.WriteTimeout, "How long a caller may take to read an answer.")
	fs.DurationVar(&c.IdleTimeout, "http-idle-timeout", c.IdleTimeout, "How long a connection may wait for its next request.")
	c.Classify.RegisterFlags(fs)
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.Address == "" {
		return config.Wrong("http-address", "is empty")
	}
	if c.MaxBody < 1 {
		return config.Wrong("http-max-body-bytes", "is %d, must be 1 or more", c.MaxBody)
	}
	if c.MaxBytes < c.MaxBody {
		return config.Wrong("http-max-bytes-in-flight", "is %d, must be at least --http-max-body-bytes, %d", c.MaxBytes, c.MaxBody)
	}
	if c.MaxRequests < 1 {
		return config.Wrong("http-max-requests-in-flight", "is %d, must be 1 or more", c.MaxRequests)
	}
	for _, t := range []struct {
		flag  string
		value time.Duration
	}{
		{"request-timeout", c.RequestTimeout},
		{"http-header-timeout", c.HeaderTimeout},
		{"http-body-timeout", c.BodyTimeout},
		{"http-write-timeout", c.WriteTimeout},
		{"http-idle-timeout", c.IdleTimeout},
	} {
		if t.value <= 0 {
			return config.Wrong(t.flag, "is %s, must be above 0", t.value)
		}
	}
	return c.Classify.Validate()
}
