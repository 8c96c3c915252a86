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
	// RequestTimeout bounds a request, whatever deadline the caller asks for. Its
	// flag is that of all doors, in shared/rpc.
	RequestTimeout time.Duration
	// HeaderTimeout and BodyTimeout are how long a caller may take to send a
	// request's headers and its body.
	HeaderTimeout, BodyTimeout time.Duration
	// MinBodyRate is how many bytes a second a body must come at, on average after
	// the first seconds.
	MinBodyRate int64
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
		RequestTimeout: 30 * time.Second,
		HeaderTimeout:  10 * time.Second,
		BodyTimeout:    30 * time.Second,
		MinBodyRate:    16 << 10,
		WriteTimeout:   30 * time.Second,
		IdleTimeout:    2 * time.Minute,
		Classify:       classify.DefaultConfig(),
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Address, "http-address", c.Address, "Where to listen for HTTP.")
	fs.Int64Var(&c.MaxBody, "http-max-body-bytes", c.MaxBody, "The most bytes of one request's body; more is answered 413.")
	fs.DurationVar(&c.HeaderTimeout, "http-header-timeout", c.HeaderTimeout, "How long a caller may take to send a request's headers.")
	fs.DurationVar(&c.BodyTimeout, "http-body-timeout", c.BodyTimeout, "How long a caller may take to send a request's body; longer is answered 408.")
	fs.Int64Var(&c.MinBodyRate, "http-min-body-rate", c.MinBodyRate, "The fewest bytes a second of a body, on average after 5 seconds; slower is answered 408.")
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
	if c.MinBodyRate < 1 {
		return config.Wrong("http-min-body-rate", "is %d, must be 1 or more", c.MinBodyRate)
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
