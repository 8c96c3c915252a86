package batcher

// few rows run together where one alone is as cheap, if many wait: the hand-over of a
// batch, and what comes of its answers being there at once, are no part of what it is
// known to cost.
const few = 2

// crowd is how many rows wait at least before a few run together.
const crowd = 2 * few

// pairs tells whether the first two that wait run together where one alone would do:
// when a crowd of their level waits, two for each instance, no instance is idle, a row
// of two costs hardly more than one, and nobody loses by it: both will be in time, and
// jobs don't hold up those who come meanwhile.
func (r adaptive) pairs(l *lane, queue []*item, s scene) bool {
	if s.idle || len(queue) < few || queue[0].rows > 1 || queue[0].bulk && s.watched || !l.curve().flat() {
		return false
	}
	return queue[1].level == queue[0].level && queue[1].rows == 1 && crowded(l.waiting, queue[0].level, max(crowd, few*r.instances)) && meets(l, queue, few, s)
}

// crowded tells whether so many rows of a level wait.
func crowded(waiting []*item, level, rows int) bool {
	for _, it := range waiting {
		if it.level == level {
			rows -= it.rows
		}
		if rows <= 0 {
			return true
		}
	}
	return false
}

// meets tells whether the first requests, as many as fit into so many rows, would be
// answered together within their deadlines.
func meets(l *lane, queue []*item, rows int, s scene) bool {
	first := earliest(queue[:fitting(queue, rows).n])
	return first.IsZero() || !first.Before(s.now.Add(l.cost.of(rows)))
}

// flat tells whether each of a few rows is about as cheap as one alone.
func (c *cost) flat() bool { return c.shape(few)/few <= c.shape(1)*(1+margin) }
