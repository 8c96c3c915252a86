package gate

import (
	"math/rand/v2"
	"time"

	"triptych/shared/failure"
)

const (
	// interval is how long the queue must have had somebody in it, without a break,
	// to be a standing one; and how long nobody, to be none any more. Bursts are
	// shorter: K. Nichols, V. Jacobson, "Controlling Queue Delay", ACM Queue 10(5),
	// 2012, whose interval this is. As in B. Maurer, "Fail at Scale", ACM Queue 13(8),
	// 2015, a standing queue is bounded by a shorter wait, rather than that a little
	// is dropped from it.
	interval = 100 * time.Millisecond
	// leastPlaces is how many may always wait, so that a few callers who each ask when
	// they have been answered are not refused.
	leastPlaces = 16
	// leastHint and mostHint bound when a caller is asked to come back.
	leastHint, mostHint = time.Second, 30 * time.Second
	// memory is the weight of what was measured before: of so many answers.
	memory = 32
)

// pace is how fast a model works, and whether more comes than that.
type pace struct {
	service  float64 // seconds for which requests hold a pass that are answered well, or too late; a moving average
	busy     time.Time
	calm     time.Time
	standing bool
}

// served learns from a request. One that fails may do so at once, and tells nothing.
func (p *pace) served(held time.Duration) {
	if p.service == 0 {
		p.service = held.Seconds()
		return
	}
	p.service += (held.Seconds() - p.service) / memory
}

// needs is how long a request takes once it is let in.
func (p *pace) needs() time.Duration { return seconds(p.service) }

func seconds(s float64) time.Duration {
	return time.Duration(min(s, (24*time.Hour).Seconds()) * float64(time.Second))
}

// look sees how many wait now.
func (p *pace) look(now time.Time, waiting int) {
	if !p.calm.IsZero() && now.Sub(p.calm) >= interval {
		p.standing = false
	}
	if waiting == 0 {
		p.busy = time.Time{}
		if p.calm.IsZero() {
			p.calm = now
		}
		return
	}
	p.calm = time.Time{}
	if p.busy.IsZero() {
		p.busy = now
	}
	if now.Sub(p.busy) >= interval {
		p.standing = true
	}
}

// drain is how many requests are let in a second while others wait, by Little's law;
// 0 while nothing is known.
func (g *gate) drain() float64 {
	if g.pace.service == 0 {
		return 0
	}
	return g.limit.Centre() / g.pace.service
}

// places is how many may wait now.
func (g *gate) places() int {
	most := g.all.cfg.MaxQueue
	rate := g.drain()
	if rate == 0 {
		return most
	}
	patience := g.all.cfg.MaxWait
	if g.pace.standing {
		patience = min(patience, g.target())
	}
	n := int(min(rate*patience.Seconds(), float64(most)))
	return min(max(n, leastPlaces), most)
}

// target is how long the wait in a standing queue may be.
func (g *gate) target() time.Duration {
	if set := g.all.cfg.TargetWait; set > 0 {
		return set
	}
	return g.pace.needs() / 4
}

// waitFor is how long a newcomer would wait for its turn.
func (g *gate) waitFor(c caller) time.Duration {
	rate := g.drain()
	if rate == 0 {
		return 0
	}
	return seconds(float64(g.waiting.Ahead(c.level, c.tenant)+1) / rate)
}

// hopeless is why a newcomer would wait for nothing, and how long; admitted when it
// would not.
func (g *gate) hopeless(now time.Time, c caller) (reason, time.Duration) {
	after := g.waitFor(c)
	switch {
	case after > g.all.cfg.MaxWait:
		return patient, after
	case after+g.pace.needs() > c.left(now):
		return late, after
	default:
		return admitted, after
	}
}

// hint is when a refused caller should come back: when those before it have had
// their turn, spread so that not all come back at once.
func hint(after time.Duration) time.Duration {
	spread := 2.0/3 + rand.Float64()
	return min(max(seconds(max(after, leastHint).Seconds()*spread), leastHint), mostHint)
}

// refuse counts a refusal and is its failure.
func (g *gate) refuse(r reason, level int, after time.Duration) error {
	g.count(r, level)
	f := failure.New(failure.Busy, "model %s is busy: %s", failure.Quote(g.model), r.text())
	f.RetryAfter = hint(after)
	return f
}
