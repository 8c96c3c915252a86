package batcher

import (
	"math"
	"sort"
	"time"
)

// cost is what was learned about the time that a batch takes by its rows: the
// shape of the curve changes slowly, and one scale for all of it follows how
// fast the device is at the moment. So a size that has not run for a while is
// not taken for faster only because the machine was quiet then.
type cost struct {
	points  []point // by rows
	scale   float64
	batches int
}

// point is the time of a batch of so many rows, in nanoseconds, at scale 1.
type point struct {
	rows int
	took float64
	last int // which batch was the last of them
}

const (
	// maxPoints bounds the sizes that are told apart. Beyond, the nearest one
	// stands for a size.
	maxPoints = 128
	// shapeWeight and scaleWeight are those of the newest batch.
	shapeWeight = 0.1
	scaleWeight = 0.3
)

// clone is a curve that learns on by itself.
func (c *cost) clone() cost {
	return cost{points: append([]point(nil), c.points...), scale: c.scale}
}

// add learns from a batch.
func (c *cost) add(rows int, took time.Duration) {
	if c.scale == 0 {
		c.scale = 1
	}
	c.batches++
	i := sort.Search(len(c.points), func(i int) bool { return c.points[i].rows >= rows })
	if i == len(c.points) || c.points[i].rows != rows {
		if len(c.points) >= maxPoints {
			return
		}
		c.points = append(c.points, point{})
		copy(c.points[i+1:], c.points[i:])
		c.points[i] = point{rows, float64(took) / c.scale, c.batches}
		return
	}
	p := &c.points[i]
	weight := shapeWeight
	if c.batches-p.last > probeEvery {
		weight = probeWeight
	}
	p.last = c.batches
	if p.took <= 0 {
		p.took = float64(took) / c.scale
		return
	}
	// A batch that was held up by something else must not count for ever. Both factors
	// take their parts of the same ratio: so noise, of one size alone too, averages out
	// and does not carry one of them away from the other.
	relative := math.Min(float64(took)/(c.scale*p.took), 4)
	p.took *= math.Pow(relative, weight)
	c.scale *= math.Pow(relative, scaleWeight)
}

// probeEvery is how many batches may run until one row has to run alone again, or twice
// as many as seem to pay together, and probeWeight what that counts: what they take would
// otherwise never be learned again while there is much to do, and all that is decided
// rests on it.
const (
	probeEvery  = 512
	probeWeight = 0.5
)

// outdated tells that it is long since a single row ran.
func (c *cost) outdated() bool {
	last := 0
	if len(c.points) > 0 && c.points[0].rows == 1 {
		last = c.points[0].last
	}
	return c.batches-last >= probeEvery
}

// unseen tells that it is long since more rows than so many ran together.
func (c *cost) unseen(rows int) bool {
	last := 0
	for _, p := range c.points {
		if p.rows > rows {
			last = max(last, p.last)
		}
	}
	return c.batches-last >= probeEvery
}

// known tells whether more than one size was seen, so that the curve has a
// shape.
func (c *cost) known() bool { return len(c.points) > 1 }

// of estimates the time of a batch: between two sizes that were seen on the
// line that joins them, beyond on the line through the outer two. With one size
// alone a batch of more rows takes as much longer. Zero when nothing is known.
func (c *cost) of(rows int) time.Duration {
	if len(c.points) == 0 {
		return 0
	}
	return time.Duration(c.scale * c.shape(rows))
}

func (c *cost) shape(rows int) float64 {
	last := len(c.points) - 1
	if last == 0 {
		return c.points[0].took * math.Max(1, float64(rows)/float64(c.points[0].rows))
	}
	i := sort.Search(len(c.points), func(i int) bool { return c.points[i].rows >= rows })
	if i <= last && c.points[i].rows == rows {
		return c.points[i].took
	}
	i = min(max(i, 1), last)
	a, b := c.points[i-1], c.points[i]
	slope := math.Max((b.took-a.took)/float64(b.rows-a.rows), 0)
	return math.Max(a.took+slope*float64(rows-a.rows), 0)
}

// curve tells what pays: the processor time of batches, where that is known. By the
// clock large batches seem cheap on processors that do other work too, for while they
// run that waits.
func (l *lane) curve() *cost {
	if l.work.known() {
		return &l.work
	}
	return &l.cost
}

// margin is how much cheaper a row must be before more rows are worth running
// together: differences below it are noise.
const margin = 0.06

// enough is how many of the rows that wait are worth running at once: all of
// them, or the fewest that have run before at which a row is as cheap as it gets,
// when those are at most half. Where batching does not pay, as on most CPUs, that
// is 1: nobody waits then for the rows of others. Between two sizes a row's share
// only grows or only shrinks, so the sizes that have run are all there is to look at.
func (c *cost) enough(rows int) int {
	if !c.known() || rows < 2 {
		return rows
	}
	best := c.shape(rows) / float64(rows)
	for _, p := range c.points {
		if p.rows <= rows {
			best = math.Min(best, p.took/float64(p.rows))
		}
	}
	for _, p := range c.points {
		if p.rows <= rows/2 && p.took/float64(p.rows) <= best*(1+margin) {
			return p.rows
		}
	}
	return rows
}
