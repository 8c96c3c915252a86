package telemetry

import (
	"log/slog"
	"net"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config says what is logged and where traces go.
type Config struct {
	// OTLPEndpoint is the host and port of a collector's gRPC; empty for none.
	OTLPEndpoint string
	// SampleRatio is the share of new traces that are kept, 0 to 1. A caller's
	// own decision is followed.
	SampleRatio float64
	LogLevel    string
	LogFormat   string
}

var _ config.Section = (*Config)(nil)

// DefaultConfig keeps every trace and sends none.
func DefaultConfig() Config {
	return Config{SampleRatio: 1, LogLevel: "info", LogFormat: "text"}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.OTLPEndpoint, "otlp-endpoint", c.OTLPEndpoint, "Collector that traces are sent to by OTLP over gRPC, HOST:PORT. Empty for none.")
	fs.Float64Var(&c.SampleRatio, "trace-ratio", c.SampleRatio, "Share of the traces begun here that are kept, 0 to 1.")
	fs.StringVar(&c.LogLevel, "log-level", c.LogLevel, "Least level that is logged: debug, info, warn, error.")
	fs.StringVar(&c.LogFormat, "log-format", c.LogFormat, "Form of the log: text, json.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if err := new(slog.LevelVar).UnmarshalText([]byte(c.LogLevel)); err != nil {
		return config.Wrong("log-level", "is %q, must be debug, info, warn or error", c.LogLevel)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return config.Wrong("log-format", "is %q, must be text or json", c.LogFormat)
	}
	if !(c.SampleRatio >= 0 && c.SampleRatio <= 1) {
		return config.Wrong("trace-ratio", "is %g, must be from 0 to 1", c.SampleRatio)
	}
	if c.OTLPEndpoint == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(c.OTLPEndpoint); err != nil || host == "" || port == "" {
		return config.Wrong("otlp-endpoint", "is %q, must be HOST:PORT", c.OTLPEndpoint)
	}
	return nil
}
