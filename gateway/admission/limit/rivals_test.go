package limit_test

import (
	"math"
	"time"
)

// What ours is compared with: the rules of Netflix's concurrency-limits
// (com.netflix.concurrency.limits.limit), written anew, with its default parameters but
// for the bound, which is the same for all here (there 200 for Gradient2, 1000 for
// Vegas, none for AIMD), and without what they do when a request is dropped.
const rivalMax = 1000

// windowed gives another limit the means of windows instead of every request, as its
// WindowedLimit does.
type windowed struct {
	limiter
	n            int
	held, flying float64
}

func (w *windowed) Done(now time.Time, held time.Duration, flying int) {
	w.n++
	w.held += held.Seconds()
	w.flying = max(w.flying, float64(flying))
	if w.n < 100 {
		return
	}
	w.limiter.Done(now, time.Duration(w.held/float64(w.n)*float64(time.Second)), int(w.flying))
	w.n, w.held, w.flying = 0, 0, 0
}

// gradient2 compares the latency of long with that of now.
// Tolerance is how much longer now may be: 1.5 in its newer versions, 1 before.
type gradient2 struct {
	tolerance   float64
	limit, long float64
	n           float64
}

func (g *gradient2) Now() int { return int(g.limit) }

func (g *gradient2) Done(_ time.Time, held time.Duration, flying int) {
	now := held.Seconds()
	g.n = min(g.n+1, 600)
	g.long += (now - g.long) * 2 / (g.n + 1)
	if g.long/now > 2 {
		g.long *= 0.9
	}
	if float64(flying) < g.limit/2 {
		return
	}
	gradient := max(0.5, min(1, g.tolerance*g.long/now))
	g.limit = min(max(0.8*g.limit+0.2*(g.limit*gradient+4), 20), rivalMax)
}

// vegas takes the least latency for that without a queue.
type vegas struct {
	limit, least float64
	n            int
}

func (v *vegas) Now() int { return int(v.limit) }

func (v *vegas) Done(_ time.Time, held time.Duration, flying int) {
	now := held.Seconds()
	if v.n++; v.least == 0 || now < v.least || v.n > int(30*v.limit) {
		v.least, v.n = now, 0
		return
	}
	if float64(flying)*2 < v.limit {
		return
	}
	queue := math.Ceil(v.limit * (1 - v.least/now))
	step := max(1, math.Log10(v.limit))
	switch {
	case queue <= step:
		v.limit += 6 * step
	case queue < 3*step:
		v.limit += step
	case queue > 6*step:
		v.limit -= step
	}
	v.limit = min(max(v.limit, 1), rivalMax)
}

// aimd backs off when a request takes longer than a timeout.
type aimd struct {
	limit   float64
	timeout time.Duration
}

func (a *aimd) Now() int { return int(a.limit) }

func (a *aimd) Done(_ time.Time, held time.Duration, flying int) {
	switch {
	case held > a.timeout:
		a.limit *= 0.9
	case float64(flying)*2 >= a.limit:
		a.limit++
	}
	a.limit = min(max(a.limit, 1), rivalMax)
}
