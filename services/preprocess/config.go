// Package preprocess is the backend "image": it turns encoded images into the
// tensors that a model takes. What becomes of an image is said by the model's
// configuration; what an image may cost is bounded by this package's Config.
package preprocess

import (
	"runtime"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config bounds the work of the backend. The models of a backend share it.
type Config struct {
	// Workers is how many images are decoded and transformed at once.
	Workers int
	// Queue is how many requests may wait for a worker. More are refused as busy.
	Queue int
	// MaxBytes, MaxPixels and MaxSide bound one image. A model's own limits can
	// only be lower.
	MaxBytes  int64
	MaxPixels int64
	MaxSide   int64
}

var _ config.Section = (*Config)(nil)

// DefaultConfig fits photographs of up to 50 megapixels.
func DefaultConfig() Config {
	return Config{
		Workers:   runtime.GOMAXPROCS(0),
		Queue:     1024,
		MaxBytes:  32 << 20,
		MaxPixels: 50_000_000,
		MaxSide:   32_768,
	}
}

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Workers, "image-workers", c.Workers, "How many images are decoded at once. Each may take 8 bytes per pixel.")
	fs.IntVar(&c.Queue, "image-queue", c.Queue, "How many requests may wait for a worker. More are answered 'busy'.")
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
		{"image-queue", int64(c.Queue), 1, 1 << 20},
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
