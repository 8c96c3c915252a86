package engine

import (
	"context"
	"math"
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
	all   int  // that there would be, if there are fewer
	own   bool // somebody else than Go has chosen that number
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
// follows the container's quota again, unless the number was not Go's own choice.
func setProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	p := &processors
	if !p.fewer {
		p.all = runtime.GOMAXPROCS(0)
		if n >= p.all {
			return
		}
		runtime.SetDefaultGOMAXPROCS()
		p.own = runtime.GOMAXPROCS(0) != p.all
	}
	p.fewer = n < p.all
	switch {
	case p.fewer:
		runtime.GOMAXPROCS(n)
	case p.own:
		runtime.GOMAXPROCS(p.all)
	default:
		runtime.SetDefaultGOMAXPROCS()
	}
}

const (
	// yieldEvery is the time between two looks at how busy the runtime is, and
	// yieldWeight what the newest counts.
	yieldEvery  = 100 * time.Millisecond
	yieldWeight = 0.5
	// countEvery is the time between two looks at how many cores there are.
	countEvery = time.Second
	// leastShare of the processors, one in so many, is never yielded; and a change of
	// less than deadShare of them, or of deadBand of one, is none.
	leastShare = 8
	deadShare  = 16
	deadBand   = 0.25
)

// Yield leaves the cores to the models that run on the CPU until ctx ends: Go code gets
// as many processors as they leave free (docs/adr/0028). It is about the whole process,
// which should do little else.
func (l *Library) Yield(ctx context.Context) {
	ticks := time.NewTicker(yieldEvery)
	defer ticks.Stop()
	defer func() { setProcessors(allProcessors()) }()
	var used float64
	at, before := time.Now(), l.usage.total()
	for counted, cores := at, Cores(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now, total := time.Now(), l.usage.total()
		if now.Sub(at) < yieldEvery/2 {
			continue // it comes soon after a late one
		}
		if total > before && now.Sub(counted) >= countEvery {
			counted, cores = now, Cores()
		}
		share := float64(total-before) / (float64(now.Sub(at)) * float64(cores))
		at, before = now, total
		used += yieldWeight * (min(share, 1) - used)
		has := runtime.GOMAXPROCS(0)
		if n := yielded(used, allProcessors(), has); n != has {
			setProcessors(n)
		}
	}
}

// yielded is how many of all processors Go code gets when the runtime uses such a share
// of the cores, and Go code has had so many.
func yielded(used float64, all, has int) int {
	left := (1 - used) * float64(all)
	n := min(max(int(math.Ceil(left)), all/leastShare, 1), all)
	band := max(deadBand, float64(all)/deadShare)
	if n > has && left <= float64(has)+band || n < has && left > float64(has)-1-(band-deadBand) {
		return has
	}
	return n
}
