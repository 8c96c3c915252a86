package board

import "time"

// paceOver is the time over which a rate is taken.
const paceOver = 10 * time.Second

// pace measures verdicts a second, lately: it counts in two halves of which the
// older is dropped.
type pace struct {
	start      time.Time // of the present half
	was, now   float64   // verdicts of the half before, and of the present one
	everyStart time.Time // when the first came
}

func (p *pace) add(t time.Time) {
	if p.everyStart.IsZero() {
		p.start, p.everyStart = t, t
	}
	p.turn(t)
	p.now++
}

func (p *pace) turn(t time.Time) {
	switch gone := t.Sub(p.start); {
	case gone < paceOver/2:
	case gone < paceOver:
		p.start, p.was, p.now = t, p.now, 0
	default:
		p.start, p.was, p.now = t, 0, 0
	}
}

func (p *pace) rate(t time.Time) float64 {
	if p.everyStart.IsZero() {
		return 0
	}
	p.turn(t)
	over := min(t.Sub(p.everyStart), t.Sub(p.start)+paceOver/2)
	return (p.was + p.now) / max(over.Seconds(), 1)
}
