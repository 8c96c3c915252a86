// Package heap decides how often the garbage of a process is collected: after so
// many bytes, not after a share of what lives.
package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Config says how much may be allocated between two collections.
type Config struct {
	// Headroom is that much, in bytes, as long as less than that lives. What lives
	// beyond it may double, as Go has it. 0 leaves all to Go.
	Headroom int64
}

var _ config.Section = (*Config)(nil)

// DefaultConfig fits the memory of the smallest container.
func DefaultConfig() Config { return Config{Headroom: 64 << 20} }

// RegisterFlags implements config.Section.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.Int64Var(&c.Headroom, "gc-headroom-bytes", c.Headroom, "How much may be allocated between two collections of garbage while little lives. 0 leaves it to Go; so does GOGC in the environment.")
}

// Validate implements config.Section.
func (c *Config) Validate() error {
	if c.Headroom < 0 || c.Headroom > 1<<40 {
		return config.Wrong("gc-headroom-bytes", "is %d, must be from 0 to %d", c.Headroom, int64(1)<<40)
	}
	return nil
}

const (
	// least is Go's own percentage, where nothing else was said: the heap may double.
	least = 100
	// smallest is the heap that Go lets grow to with its own percentage, however little
	// lives. It grows with the percentage.
	smallest = 4 << 20
)

// roots are the metrics of what the percentage is a share of: what the last
// collection found alive, stacks and globals (https://go.dev/doc/gc-guide).
var roots = [...]string{"/gc/heap/live:bytes", "/gc/scan/stack:bytes", "/gc/scan/globals:bytes"}

// percent is Go's GC percentage with which headroom bytes may be allocated beyond
// the bytes of the roots.
func percent(headroom int64, roots uint64) int {
	return max(int(100*float64(headroom)/float64(max(roots, smallest))), least)
}

// rooted reads the roots.
func rooted() (bytes uint64) {
	samples := make([]metrics.Sample, len(roots))
	for i, name := range roots {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, s := range samples {
		bytes += s.Value.Uint64()
	}
	return bytes
}

// Tune keeps to the headroom until stop is called, which puts back what was there
// before. It is about the whole process: one who tunes is enough. Who has set GOGC
// keeps that. Services live on little memory and allocate a few hundred kB for each
// request, so that Go's own rule would have them collect every few dozen requests.
func Tune(cfg Config) (stop func()) {
	before := debug.SetGCPercent(least)
	if cfg.Headroom == 0 || before != least {
		debug.SetGCPercent(before)
		return func() {}
	}
	t := &tuner{headroom: cfg.Headroom, current: least}
	t.turn()
	return t.stop
}

// tuner sets the percentage anew after each collection.
type tuner struct {
	headroom int64

	mu      sync.Mutex // guards what follows
	current int        // what the runtime has
	stopped bool
}

// sentinel is what a collection finds dead. It has a pointer, so that it is not
// allocated together with others.
type sentinel struct{ _ *byte }

// turn sets the percentage, and comes again after the next collection.
func (t *tuner) turn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	t.adjust()
	runtime.AddCleanup(&sentinel{}, (*tuner).turn, t)
}

// adjust changes the percentage when that is worth stopping the world for.
func (t *tuner) adjust() {
	wanted := percent(t.headroom, rooted())
	if change := math.Abs(float64(wanted-t.current)) / float64(t.current); change < 0.1 {
		return
	}
	t.current = wanted
	debug.SetGCPercent(wanted)
}

func (t *tuner) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.stopped = true
		debug.SetGCPercent(least)
	}
}
