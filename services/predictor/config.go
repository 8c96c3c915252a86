// Package predictor is the backend "onnxruntime": it runs ONNX models through
// ONNX Runtime (package engine) in batches that are formed across requests
// (package batcher). It serves nothing by itself: the model server does.
package predictor

import (
	"github.com/spf13/pflag"

	"triptych/services/predictor/engine"
	"triptych/shared/failure"
)

// Config is what the service, not the model, says.
type Config struct {
	// Device is where models run: auto, cpu, cuda[:N] or tensorrt[:N]. Auto is
	// a GPU when one works, else the CPU.
	Device string
	// Library is the path of the ONNX Runtime library; empty looks for it.
	Library string
	// MaxQueueSize is the most requests that wait for one version of a model
	// whose configuration sets no bound.
	MaxQueueSize int
	// IntraOpThreads is the number of threads of one operator; 0 shares the
	// cores, as far as the container's quota goes, among the batches that run at
	// once. A model's intra_op_thread_count goes before it.
	IntraOpThreads int
}

// DefaultConfig works on any machine.
func DefaultConfig() Config { return Config{Device: engine.Auto, MaxQueueSize: 1024} }

// RegisterFlags adds a flag for each setting.
func (c *Config) RegisterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Device, "device", c.Device, "where models run: auto, cpu, cuda[:N], tensorrt[:N]; a GPU that is asked for and missing is an error")
	flags.StringVar(&c.Library, "onnxruntime", c.Library, "path of libonnxruntime.so, 1.24 or newer (default: the cache of \"make setup\", then /usr/lib and /usr/local/lib)")
	flags.IntVar(&c.MaxQueueSize, "max-queue-size", c.MaxQueueSize, "most requests that wait for one version of a model whose queue policy sets no bound")
	flags.IntVar(&c.IntraOpThreads, "intra-op-threads", c.IntraOpThreads, "threads of one operator of a model (0: the cores, shared by the model's instances)")
}

// Validate names the flag that is wrong.
func (c Config) Validate() error {
	if _, err := engine.ParseDevice(c.Device); err != nil {
		return failure.Prefix("--device", err)
	}
	if c.MaxQueueSize < 1 {
		return failure.New(failure.Invalid, "--max-queue-size: %d is less than 1", c.MaxQueueSize)
	}
	if c.IntraOpThreads < 0 || c.IntraOpThreads > 1024 {
		return failure.New(failure.Invalid, "--intra-op-threads: %d is not from 0 to 1024", c.IntraOpThreads)
	}
	return nil
}
