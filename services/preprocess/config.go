// Package preprocess is the backend "image": it turns encoded images into the
// tensors that a model takes. What becomes of an image is said by the model's
// configuration; what an image may cost is bounded by this package's Config.
package preprocess

import (
	"runtime"

	"github.com/spf13/pflag"

	"triptych/services/preprocess/admission"
	"triptych/shared/config"
)

// Config bounds the work of the backend. The models of a backend share it.
type Config struct {
	// Workers is how many images are decoded and transformed at once. One of them
	// is left to small images.
	Workers int
	// Budget is how many bytes those images may hold together. One that is larger by
	// itself has to wait until no other large one is at work.
	Budget int64
	// Queue is how many requests may wait for a worker, and QueueBytes how many bytes
	// of files requests may hold, waiting or at work. More are refused as busy.
	Queue      int
	QueueBytes int64
	// MaxBytes, MaxPixels and MaxSide bound one image. A model's own limits can
	// only be lower.
	MaxBytes  int64
	MaxPixels int64
	MaxSide   int64
}

var _ config.Section = (*Config)(nil)

// largeImage is the bytes of work from which an image counts as large: a baseline
// JPEG of 3 megapixels, which takes about ten times as long as a small photograph.
const largeImage = 8 << 20

// DefaultConfig fits photographs of up to 50 megapixels, and 64 callers at once with
// photographs of 12 into a gigabyte. A worker more than there are CPUs lets large
// images have all of them while no small one comes.
func DefaultConfig() Config {
	return Config{
		Workers:    runtime.GOMAXPROCS(0) + 1,
		Budget:     384 << 20,
		Queue:      1024,
		QueueBytes: 384 << 20,
		MaxBytes:   32 << 20,
		MaxPixels:  50_000_000,
		MaxSide:    32_768,
	}
}

// Memory is what requests and the work on their images may hold together. Garbage
// is collected before a process has more.
func (c *Config) Memory() int64 { return c.Budget + c.QueueBytes }

func (c *Config) admission() admission.Config {
	return admission.Config{
		Slots: c.Workers, Budget: c.Budget, Large: min(largeImage, c.Budget/4), Requests: c.Queue, Bytes: c.QueueBytes,
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Workers, "image-workers", c.Workers, "How many images are decoded at once. One is left to small images.")
	fs.Int64Var(&c.Budget, "image-budget-bytes", c.Budget, "Most bytes that the images decoded at once hold together. A larger image is decoded when no other large one is.")
	fs.IntVar(&c.Queue, "image-queue", c.Queue, "How many requests may wait for a worker. More are answered 'busy'.")
	fs.Int64Var(&c.QueueBytes, "image-queue-bytes", c.QueueBytes, "Most bytes of image files that requests hold, waiting or worked on. More are answered 'busy'.")
	fs.Int64Var(&c.MaxBytes, "image-max-bytes", c.MaxBytes, "Most bytes of an image file.")
	fs.Int64Var(&c.MaxPixels, "image-max-pixels", c.MaxPixels, "Most pixels of an image, width times height.")
	fs.Int64Var(&c.MaxSide, "image-max-side", c.MaxSide, "Most pixels of a side of an image.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name               string
		value, least, most int64
	}{
		{"image-workers", int64(c.Workers), 1, 4096},
		{"image-budget-bytes", c.Budget, 1 << 20, 1 << 40},
		{"image-queue", int64(c.Queue), 1, 1 << 20},
		{"image-queue-bytes", c.QueueBytes, 1 << 20, 1 << 40},
		{"image-max-bytes", c.MaxBytes, 1, 1 << 31},
		{"image-max-pixels", c.MaxPixels, 1, 1 << 32},
		{"image-max-side", c.MaxSide, 1, 1 << 20},
	} {
		if f.value < f.least || f.value > f.most {
			return config.Wrong(f.name, "is %d, must be from %d to %d", f.value, f.least, f.most)
		}
	}
	return nil
}
