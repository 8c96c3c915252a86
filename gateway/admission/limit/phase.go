package limit

import (
	"math"
	"time"
)

// phase is a time in which the limit stays where it is.
type phase struct {
	side    int // -1 below the centre, 1 above, 0 at it: nothing is compared yet
	since   time.Time
	samples int
	held    float64 // seconds, all samples together
	queued  float64 // seconds of those
	flying  float64 // requests in flight, all samples together
}

// point is what a phase has found, as logarithms.
type point struct{ flying, held float64 }

// end is the end of a phase.
func (l *Limit) end(now time.Time) {
	p := l.phase
	l.phase = phase{since: now}
	n := float64(p.samples)
	found := point{math.Log(p.flying / n), math.Log(p.held / n)}
	l.watch(found)
	l.crowd = p.queued / p.held
	if p.flying/n < full*float64(l.at(p.side)) {
		// The callers ask for less: there is nothing to find out.
		l.history = l.history[:0]
		return
	}
	if l.tooLong(found) {
		l.rest(math.Exp(-mostDown))
		return
	}
	if l.crowd >= enoughCrowd {
		// In the stages there is a queue, and so nothing to be gained. Where it is longer
		// than it may be, the limit goes to where it would be no longer.
		l.rest(max(0.25, (1-l.crowd)/(1-mostCrowd)))
		return
	}
	switch {
	case l.starting:
	case p.side < 0:
		l.phase.side = 1
		l.baseline = time.Duration(p.held / n * float64(time.Second))
	default:
		l.phase.side = -1
	}
	l.history = append(l.history, found)
	if len(l.history) > 3 {
		l.history = l.history[1:]
	}
	if l.starting {
		l.start()
		return
	}
	l.move()
}

// rest has the limit stay, without a swing, or come down by a factor.
func (l *Limit) rest(factor float64) {
	l.starting = false
	l.history = l.history[:0]
	if factor < 1 {
		l.centre = l.bounded(l.bounded(l.centre) * factor)
	}
}

// start takes the first strides, which are large: from any limit to the one that is
// wanted in a few.
func (l *Limit) start() {
	if n := len(l.history); n > 1 {
		a, b := l.history[n-2], l.history[n-1]
		if b.held-a.held > doubtful*(b.flying-a.flying) {
			l.starting = false
			l.centre = l.bounded(l.centre / stride)
			l.history = l.history[:0]
			l.phase.side = -1
			return
		}
	}
	before := l.bounded(l.centre)
	l.centre = l.bounded(before * stride)
	l.starting = l.centre > before
}

// watch keeps the least latency.
func (l *Limit) watch(found point) {
	if l.least == 0 || l.tooLong(found) && l.bounded(l.centre*0.99) == l.bounded(l.centre) {
		l.least = found.held
	}
	l.least = min(l.least+forget, found.held)
}

func (l *Limit) tooLong(found point) bool { return found.held > l.least+math.Log(longest) }

// move compares a phase with the ones before and after it, which leaves out what
// changes steadily, and moves the centre.
func (l *Limit) move() {
	if len(l.history) < 3 {
		return
	}
	a, b, c := l.history[0], l.history[1], l.history[2]
	flying := b.flying - (a.flying+c.flying)/2
	if math.Abs(flying) < 0.05 {
		return
	}
	found := (b.held - (a.held+c.held)/2) / flying
	// Had nothing but the limit changed, the first and the last phase would be alike:
	// what they differ by, beyond what they had in flight, is noise.
	noise := math.Abs(c.held-a.held-(c.flying-a.flying)) / math.Abs(flying)
	sure := 1 / (1 + 4*noise*noise)
	found = min(max(found, wanted-most), wanted+most)
	l.gradient += believe * sure * (found - l.gradient)
	step := gainDown * (wanted - l.gradient)
	if step > 0 {
		step *= gainUp / gainDown
	}
	step = min(max(step*sure, -mostDown), mostUp) - doubt*(1-sure)
	l.centre = l.bounded(l.bounded(l.centre) * math.Exp(step))
}
