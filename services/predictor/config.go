// Package predictor is the backend "onnxruntime": it runs ONNX models through
// ONNX Runtime (package engine) in batches that are formed across requests
// (package batcher). Package simulator is its other backend. It serves nothing by
// itself: the model server does.
package predictor

import (
	"time"

	"github.com/spf13/pflag"

	"triptych/services/predictor/engine"
	"triptych/shared/config"
	"triptych/shared/failure"
)

// Config is what the service, not the model, says.
type Config struct {
	// Device is where models run: auto, cpu, cuda[:N] or tensorrt[:N]. Auto is
	// a GPU when one works, else the CPU.
	Device string
	// DeviceFallback is what becomes of a model when a GPU that was asked for does
	// not work: error fails its load, cpu runs it on the CPU and says so. Empty is
	// error. A model's device_fallback goes before it.
	DeviceFallback string
	// Library is the path of the ONNX Runtime library; empty looks for it.
	Library string
	// MaxQueueSize is the most requests that wait for one version of a model
	// whose configuration sets no bound.
	MaxQueueSize int
	// IntraOpThreads is the number of threads of one operator; 0 shares the
	// cores, as far as the container's quota goes, among the batches that run at
	// once. A model's intra_op_thread_count goes before it.
	IntraOpThreads int
	// WideSessionMaxBytes is the size of the largest model, with its weights, that
	// gets a second session on the CPU for runs that are alone, on all cores; 0 is
	// none. A model's wide_session goes before it.
	WideSessionMaxBytes int64
	// YieldProcessors leaves the cores to models that run on the CPU: Go code gets as
	// many processors as they leave free. It is about the whole process, so only the
	// service that is one by itself turns it on.
	YieldProcessors bool
	// StallTimeout is how long a batch may run before the service says that it no
	// longer lives.
	StallTimeout time.Duration
	// DisableAutoComplete leaves configurations as they are written.
	DisableAutoComplete bool
}

var _ config.Section = (*Config)(nil)

// DefaultConfig works on any machine.
func DefaultConfig() Config {
	return Config{Device: engine.Auto, DeviceFallback: engine.FallbackError, MaxQueueSize: 1024, WideSessionMaxBytes: 256 << 20, StallTimeout: 2 * time.Minute}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Device, "device", c.Device, "Where models run: auto, cpu, cuda[:N], tensorrt[:N]; without N, on every GPU. See --device-fallback.")
	fs.StringVar(&c.DeviceFallback, "device-fallback", c.DeviceFallback, "What to do when a GPU that was asked for does not work: error, or cpu, which index, metadata and metrics then tell.")
	fs.StringVar(&c.Library, "onnxruntime", c.Library, "Path of libonnxruntime.so, 1.24 or newer. Without one, the cache of \"make setup\" is looked into, then /usr/lib and /usr/local/lib.")
	fs.IntVar(&c.MaxQueueSize, "max-queue-size", c.MaxQueueSize, "Most requests that wait for one version of a model whose queue policy sets no bound.")
	fs.IntVar(&c.IntraOpThreads, "intra-op-threads", c.IntraOpThreads, "Threads of one operator of a model. With 0, the model's instances share the cores.")
	fs.Int64Var(&c.WideSessionMaxBytes, "wide-session-max-bytes", c.WideSessionMaxBytes, "Largest model, with its weights, that gets a second session on the CPU: one on all cores, for requests that are alone. It holds the weights once more; 0 is none.")
	fs.BoolVar(&c.YieldProcessors, "yield-processors", c.YieldProcessors, "While models run on the CPU, give Go code only as many processors (GOMAXPROCS) as they leave free: its threads would interrupt theirs.")
	fs.DurationVar(&c.StallTimeout, "stall-timeout", c.StallTimeout, "How long a batch may run before /livez says that the service hangs.")
	fs.BoolVar(&c.DisableAutoComplete, "disable-auto-complete-config", c.DisableAutoComplete, "Fill in nothing that a configuration leaves out: it must say the inputs and outputs itself.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if _, err := engine.ParseDevice(c.Device); err != nil {
		return config.Wrong("device", "is wrong: %s", failure.Message(err))
	}
	switch c.DeviceFallback {
	case "", engine.FallbackError, engine.FallbackCPU:
	default:
		return config.Wrong("device-fallback", "is %q, must be error or cpu", c.DeviceFallback)
	}
	if c.MaxQueueSize < 1 {
		return config.Wrong("max-queue-size", "is %d, must be 1 or more", c.MaxQueueSize)
	}
	if c.IntraOpThreads < 0 || c.IntraOpThreads > 1024 {
		return config.Wrong("intra-op-threads", "is %d, must be from 0 to 1024", c.IntraOpThreads)
	}
	if c.WideSessionMaxBytes < 0 {
		return config.Wrong("wide-session-max-bytes", "is %d, must be 0 or more", c.WideSessionMaxBytes)
	}
	if c.StallTimeout <= 0 {
		return config.Wrong("stall-timeout", "is %s, must be more than 0", c.StallTimeout)
	}
	return nil
}
