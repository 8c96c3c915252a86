package batcher

// few rows run together where one alone is as cheap, if many wait: the hand-over of a
// batch, and what comes of its answers being there at once, are no part of what it is
// known to cost.
const few = 2

// crowd is how many rows wait at least before a few run together.
const crowd = 2 * few

// pairs tells whether the first two that wait run together where one alone would do:
// when a crowd waits, two for each instance, no instance is idle, a row of two costs
// hardly more than one, and neither of the two loses by it: they are of one level,
// and both will be in time.
func (r adaptive) pairs(l *lane, queue []*item, s scene) bool {
	if s.idle || l.rows < max(crowd, few*r.instances) || len(queue) < few || queue[0].level != queue[1].level || !l.curve().flat() {
		return false
	}
	late := s.now.Add(l.cost.of(few))
	for _, it := range queue[:few] {
		if it.rows > 1 || !it.deadline.IsZero() && it.deadline.Before(late) {
			return false
		}
	}
	return true
}

// flat tells whether each of a few rows is about as cheap as one alone.
func (c *cost) flat() bool { return c.shape(few)/few <= c.shape(1)*(1+margin) }
