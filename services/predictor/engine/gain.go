package engine

import (
	"math"
	"sync"
	"time"
)

// gain is what was learned of a model's two gears from runs that were alone: how
// long a byte of input takes in each. A wide run wins where the cores are free; it
// loses where another process has one of them, for its threads wait for each other
// at every operator, and with models too small to be divided.
type gain struct {
	mu    sync.Mutex
	gears [2]float64 // nanoseconds a byte, narrow and wide; 0 when nothing is known
	first [2]int     // how many of the first runs are known
	runs  int        // since the last trial of the gear that is thought to be slower
	trial int        // runs of it that are left
	cold  bool       // the first one of a trial has not ended
}

const (
	narrow = iota
	wide
)

const (
	// worthwhile is the most of a narrow run's time that a wide one may take, for it
	// takes all cores.
	worthwhile = 0.9
	// trialRuns is how many runs there are in the gear that is thought to be slower,
	// one after the other: the first finds the caches cold and tells nothing.
	trialRuns = 4
	// firstRuns of a gear touch its memory for the first time: the fastest counts.
	firstRuns = 4
	// gearWeight and trialWeight are those of the newest run, in the gear that is
	// used and in the other.
	gearWeight, trialWeight = 1. / 16, 1. / 4
	// mostOff bounds what one run can tell: it may have been held up.
	mostOff = 3
)

// trialEvery is how many runs in a gear there are between trials of the other.
// Narrow runs are so few among wide ones that they are not the 99th percentile;
// wide ones among narrow runs cost little, and the machine may be quiet again.
var trialEvery = [2]int{narrow: 48, wide: 100 * trialRuns}

// choose is the gear for a run that is alone.
func (g *gain) choose() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	best := g.best()
	if g.gears[best] == 0 {
		return best
	}
	if g.trial > 0 {
		g.trial--
		return 1 - best
	}
	if g.runs++; g.runs > trialEvery[best] {
		g.runs, g.trial, g.cold = 0, trialRuns-1, true
		return 1 - best
	}
	return best
}

// best is the gear that is faster, as far as is known; what is not known is tried.
func (g *gain) best() int {
	if g.gears[narrow] > 0 && g.gears[wide] > worthwhile*g.gears[narrow] {
		return narrow
	}
	return wide
}

// learn keeps what a run took.
func (g *gain) learn(gear int, bytes int64, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen, known := float64(took)/float64(max(bytes, 1)), &g.gears[gear]
	if g.first[gear] < firstRuns {
		if g.first[gear]++; *known == 0 || seen < *known {
			*known = seen
		}
		return
	}
	before, weight := g.best(), gearWeight
	if gear != before {
		if weight = trialWeight; g.cold {
			g.cold = false
			return
		}
	}
	was := *known
	*known += weight * (math.Min(seen, mostOff*was) - was)
	if g.best() != before {
		g.runs, g.trial = 0, 0
	}
}
