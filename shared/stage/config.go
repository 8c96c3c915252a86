// Package stage runs a service: it joins settings, telemetry, the admin port, the
// gRPC port and the models of the service's backends. What a backend does is not
// its business.
package stage

import (
	"github.com/spf13/pflag"

	"triptych/shared/admin"
	"triptych/shared/app"
	"triptych/shared/config"
	"triptych/shared/heap"
	"triptych/shared/modelserver"
	"triptych/shared/rpc"
	"triptych/shared/scheduling"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/worker"
)

// Config is what every service is told.
type Config struct {
	// Repository are the folders with models.
	Repository  []string
	GRPCAddress string
	Control     Control
	App         app.Config
	Scheduling  scheduling.Config
	Heap        heap.Config
	Admin       admin.Config
	RPC         rpc.Config
	Telemetry   telemetry.Config
	Stream      stream.Config
	Worker      worker.Config

	// ResponseCacheBytes bounds the answers that are kept for all models together.
	ResponseCacheBytes int64
}

var _ config.Section = (*Config)(nil)

// DefaultConfig serves ./models on loopback.
func DefaultConfig() Config {
	return Config{
		Repository:  []string{"models"},
		GRPCAddress: config.GRPCAddress,
		Control:     DefaultControl(),
		App:         app.DefaultConfig(),
		Scheduling:  scheduling.DefaultConfig(),
		Heap:        heap.DefaultConfig(),
		Admin:       admin.DefaultConfig(),
		RPC:         rpc.DefaultConfig(),
		Telemetry:   telemetry.DefaultConfig(),
		Stream:      stream.DefaultConfig(),
		Worker:      worker.DefaultConfig(),

		ResponseCacheBytes: modelserver.DefaultResponseCacheBytes,
	}
}

func (c *Config) sections() []config.Section {
	return []config.Section{&c.Control, &c.App, &c.Scheduling, &c.Heap, &c.Admin, &c.RPC, &c.Telemetry, &c.Stream, &c.Worker}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Repository, "model-repository", c.Repository, "Folder with models in Triton's layout. May be given more than once.")
	fs.StringVar(&c.GRPCAddress, "grpc-address", c.GRPCAddress, "Where the Open Inference Protocol is served by gRPC.")
	fs.Int64Var(&c.ResponseCacheBytes, "response-cache-bytes", c.ResponseCacheBytes, "The most bytes of answers kept for the models with a response_cache, all together. 0 keeps none.")
	for _, s := range c.sections() {
		s.RegisterFlags(fs)
	}
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if len(c.Repository) == 0 {
		return config.Wrong("model-repository", "is not given")
	}
	if c.GRPCAddress == "" {
		return config.Wrong("grpc-address", "is empty")
	}
	if c.ResponseCacheBytes < 0 {
		return config.Wrong("response-cache-bytes", "is %d, must be 0 or more", c.ResponseCacheBytes)
	}
	return config.Validate(c.sections()...)
}
