package batcher

import (
	"math"
	"time"
)

// adaptive waits only when waiting pays, by what was learned of the cost of a
// batch and of when requests come (docs/adr/0011). The delay is the most that it
// waits.
type adaptive struct {
	delay     time.Duration
	preferred []int
	instances int
}

func (r adaptive) cut(l *lane, queue []*item, s scene) verdict {
	v := fitting(queue, s.limit)
	if l.cost.outdated() && v.n > 1 && queue[0].rows == 1 {
		return verdict{n: 1, rows: 1, reason: cutProbe}
	}
	if n := l.share(queue[:v.n], s); n < v.n {
		v = fitting(queue[:n], s.limit)
		v.reason = cutShare
	}
	curve := l.curve()
	if rows := curve.enough(v.rows); rows < v.rows {
		reason := cutEnough
		if rows == 1 && r.pairs(l, queue[:v.n], s) {
			rows = few
		}
		if 2*rows <= v.rows && curve.unseen(rows) && meets(l, queue[:v.n], 2*rows, s) {
			rows, reason = 2*rows, cutProbe
		}
		v = fitting(queue[:v.n], rows)
		v.reason = reason
		return v
	}
	switch {
	case v.reason == cutShare:
		return v
	case v.rows >= s.limit || v.n < len(queue):
		v.reason = cutFull
		return v
	case s.draining:
		v.reason = cutDrain
		return v
	}
	until := r.worth(l, v.rows, s)
	if until.IsZero() {
		return r.take(queue, v, cutIdle, s)
	}
	if s.others {
		return r.take(queue, v, cutShape, s)
	}
	reason := cutIdle
	if last := l.oldest().Add(r.delay); last.Before(until) {
		until, reason = last, cutDelay
	}
	if last, ok := r.latest(l, queue, s); ok && last.Before(until) {
		until, reason = last, cutDeadline
	}
	if !s.now.Before(until) {
		return r.take(queue, v, reason, s)
	}
	return verdict{again: until}
}

// take runs what is there, or as much of it as a preferred size has.
func (r adaptive) take(queue []*item, v verdict, reason string, s scene) verdict {
	if preferred, ok := preferredOf(queue, r.preferred, s.limit); ok {
		return preferred
	}
	v.reason = reason
	return v
}

// latest is when the batch must be cut for its earliest deadline.
func (r adaptive) latest(l *lane, queue []*item, s scene) (time.Time, bool) {
	first := earliest(queue)
	return first.Add(-inTime(l.cost.of(s.limit))), !first.IsZero()
}

// earliest is the first deadline of all; zero when there is none.
func earliest(queue []*item) (first time.Time) {
	for _, it := range queue {
		if !it.deadline.IsZero() && (first.IsZero() || it.deadline.Before(first)) {
			first = it.deadline
		}
	}
	return first
}

const (
	// maxTargets bounds the sizes that are weighed against each other.
	maxTargets = 32
	// grace is the part of the cost of a batch by which rows may come later than
	// forecast, for a forecast is an average.
	grace = 1. / 8
)

// worth is until when it pays to wait for more rows than the n that are there;
// zero when it does not.
//
// Weighed are the sums of the times at which rows are answered: those that are
// there, those up to a size m that is waited for, and those up to k that come
// before an instance is free again. When the n go now, the others run together when
// one is free; when they wait, m run when the last has come, and the rest then:
//
//	now  = n·c(n) + (k-n)·(max(w, free) + c(k-n))
//	wait = m·(w + c(m)) + (k-m)·(w + c(m) + c(k-m))
//
// where c is the cost of a batch, w the forecast of the time until m rows are
// there, and free the time until the next instance is idle. The m with the
// greatest gain is waited for, not longer than it takes for the gain to be gone,
// nor much longer than forecast.
func (r adaptive) worth(l *lane, n int, s scene) time.Time {
	if r.delay == 0 || s.idle || !l.cost.known() {
		return time.Time{}
	}
	c := func(rows int) float64 {
		if rows == 0 {
			return 0
		}
		return float64(l.cost.of(rows))
	}
	own := c(n)
	free := math.Min(own, float64(s.free))
	soon := l.pace.within(n, time.Duration(free))
	var until time.Time
	best := 0.0
	for m := range r.targets(n, s.limit) {
		forecast := l.pace.until(n, m)
		if forecast == never {
			break
		}
		w, k := float64(forecast), max(m, soon)
		next := math.Max(w, free)
		now := sum(n, own) + sum(k-n, next+c(k-n))
		wait := sum(m, w+c(m)) + sum(k-m, w+c(m)+c(k-m))
		gain := now - wait
		doubt := 2*forecast + time.Duration(grace*own)
		if l.pace.inStep() {
			if together := float64(m) * r.inStep(l, m); together > gain {
				gain, doubt = together, forecast+time.Duration(own/2)
			}
		}
		if gain <= best {
			continue
		}
		// From here on every moment of waiting costs m of it.
		late := max(time.Duration(gain/float64(m)), time.Duration(grace*own))
		if last := l.pace.last.Add(min(forecast+late, doubt)); s.now.Before(last) {
			best, until = gain, last
		}
	}
	return until
}

// sum is that of the times at which so many rows are answered.
func sum(rows int, at float64) float64 { return float64(rows) * at }

// inStep is how much sooner m rows are answered that come back together after
// each batch and wait for each other, than if they took turns in two halves.
func (r adaptive) inStep(l *lane, m int) float64 {
	half := m / 2
	return float64(l.cost.of(half)+l.cost.of(m-half)-l.cost.of(m)) - float64(l.pace.until(0, m))
}

// targets are the sizes that are worth a thought: the preferred ones where there
// are some.
func (r adaptive) targets(n, limit int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if len(r.preferred) > 0 {
			for _, size := range r.preferred {
				if size > n && size <= limit && !yield(size) {
					return
				}
			}
			return
		}
		step := max((limit-n+maxTargets-1)/maxTargets, 1)
		for m := n + step; m < limit; m += step {
			if !yield(m) {
				return
			}
		}
		yield(limit)
	}
}
