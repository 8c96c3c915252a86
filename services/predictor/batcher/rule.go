package batcher

import "time"

// The reasons why a batch was cut; see the package's comment.
const (
	cutFull      = "full"
	cutEnough    = "enough"
	cutPreferred = "preferred"
	cutDelay     = "delay"
	cutDeadline  = "deadline"
	cutShape     = "shape"
	cutProbe     = "probe"
	cutShare     = "share"
	cutIdle      = "idle"
	cutDrain     = "drain"
)

// rule decides for a lane, when an instance is idle, how many of its requests to
// run now.
type rule interface {
	cut(l *lane, queue []*item, s scene) verdict
}

// scene is what a rule sees beside the lane.
type scene struct {
	now      time.Time
	limit    int           // the most rows of a batch
	draining bool          // nobody comes any longer
	others   bool          // requests wait that can't share the lane's batch
	idle     bool          // another instance is idle
	watched  bool          // requests come for which somebody waits
	free     time.Duration // until the next of the busy instances is free; never when none is busy
}

// verdict is to run the first n requests now, or, when n is 0, to look again at
// a time.
type verdict struct {
	n      int
	rows   int
	reason string
	again  time.Time
}

// fitting takes requests, in the order given, as long as they fit into a batch.
// None is split and none overtaken. One that is alone too large for a limit that
// was lowered runs alone.
func fitting(queue []*item, limit int) (v verdict) {
	for _, it := range queue {
		if v.n > 0 && v.rows+it.rows > limit {
			break
		}
		v.n++
		v.rows += it.rows
	}
	return v
}

// preferredOf cuts at the largest preferred size that the first requests have
// together.
func preferredOf(queue []*item, sizes []int, limit int) (best verdict, found bool) {
	best.reason = cutPreferred
	rows := 0
	for i, it := range queue {
		if rows += it.rows; rows > limit {
			break
		}
		for _, size := range sizes {
			if rows == size {
				best.n, best.rows, found = i+1, rows, true
			}
		}
	}
	return best, found
}

// alone runs each request by itself.
type alone struct{}

func (alone) cut(_ *lane, queue []*item, s scene) verdict {
	v := fitting(queue[:1], s.limit)
	v.reason = cutIdle
	if s.draining {
		v.reason = cutDrain
	}
	return v
}

// triton cuts by the rules of Triton's dynamic batcher (core,
// dynamic_batch_scheduler.cc): a batch waits its whole delay, unless it is full
// or has a preferred size.
type triton struct {
	delay     time.Duration
	preferred []int
}

func (r triton) cut(l *lane, queue []*item, s scene) verdict {
	due := l.oldest().Add(r.delay)
	overdue := !s.now.Before(due)
	if !overdue && !s.draining && l.rows < s.limit {
		if v, ok := preferredOf(queue, r.preferred, s.limit); ok {
			return v
		}
		return verdict{again: due}
	}
	v := fitting(queue, s.limit)
	switch {
	case v.rows >= s.limit || v.n < len(queue):
		v.reason = cutFull
	case s.draining:
		v.reason = cutDrain
	case r.delay > 0:
		v.reason = cutDelay
	default:
		v.reason = cutIdle
	}
	return v
}
