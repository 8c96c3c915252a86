package board

import "time"

// paceHalf is half of the time over which a rate is taken.
const paceHalf = 5 * time.Second

// pace measures what comes a second, lately: it counts in two halves of which the
// older is dropped.
type pace struct {
	begin    time.Time // of the count, after a time of nothing
	start    time.Time // of the present half
	was, now float64   // of the half before, and of the present one
}

func (p *pace) add(t time.Time, n float64) {
	p.turn(t)
	p.now += n
}

func (p *pace) turn(t time.Time) {
	switch gone := t.Sub(p.start); {
	case gone < paceHalf:
	case gone < 2*paceHalf:
		p.start, p.was, p.now = p.start.Add(paceHalf), p.now, 0
	default:
		p.begin, p.start, p.was, p.now = t, t, 0, 0
	}
}

func (p *pace) rate(t time.Time) float64 {
	p.turn(t)
	over := min(t.Sub(p.begin), t.Sub(p.start)+paceHalf)
	return (p.was + p.now) / max(over.Seconds(), 1)
}
