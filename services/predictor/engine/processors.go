package engine

import (
	"context"
	"math"
	"os"
	"runtime"
	"sync"
	"time"
)

// processors are how many threads run Go code at once, GOMAXPROCS, which is one number
// for the whole process: as many as there would be, or fewer while the runtime has
// the cores.
var processors struct {
	sync.Mutex
	fewer bool
	all   int // that there would be, if there are fewer
}

func allProcessors() int {
	processors.Lock()
	defer processors.Unlock()
	if processors.fewer {
		return processors.all
	}
	return runtime.GOMAXPROCS(0)
}

// setProcessors lets so many threads run Go code at once. With all of them Go itself
// follows the container's quota again, unless the environment sets the number.
func setProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	if !processors.fewer {
		processors.all = runtime.GOMAXPROCS(0)
	}
	before := processors.fewer
	processors.fewer = n < processors.all
	switch {
	case !processors.fewer && !before: // there is nothing to give back
	case processors.fewer:
		runtime.GOMAXPROCS(n)
	case os.Getenv("GOMAXPROCS") == "":
		runtime.SetDefaultGOMAXPROCS()
	default:
		runtime.GOMAXPROCS(processors.all)
	}
}

const (
	// yieldEvery is the time between two looks at how busy the runtime is, and
	// yieldWeight what the newest counts.
	yieldEvery  = 100 * time.Millisecond
	yieldWeight = 0.5
	// yieldMargin is by how much more than the processors there are must be free before
	// Go gets more of them again.
	yieldMargin = 0.25
)

// Yield leaves the cores to the models that run on the CPU until ctx ends: Go code gets
// as many processors as they leave free, at least one (docs/adr/0028). It is about the
// whole process, which should do little else.
func (l *Library) Yield(ctx context.Context) {
	ticks := time.NewTicker(yieldEvery)
	defer ticks.Stop()
	defer func() { setProcessors(allProcessors()) }()
	var used float64
	for at, before := time.Now(), l.usage.total(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		total, all := l.usage.total(), allProcessors()
		share := float64(total-before) / (float64(time.Since(at)) * float64(Cores()))
		at, before = time.Now(), total
		used += yieldWeight * (min(share, 1) - used)
		if now := runtime.GOMAXPROCS(0); yielded(used, all, now) != now {
			setProcessors(yielded(used, all, now))
		}
	}
}

// yielded is how many of all processors Go code gets when the runtime uses such a share
// of the cores, and Go code has had so many.
func yielded(used float64, all, now int) int {
	left := (1 - used) * float64(all)
	n := min(max(int(math.Ceil(left)), 1), all)
	if n > now && left <= float64(now)+yieldMargin {
		return now
	}
	return n
}
