package batcher

import "time"

// lowFor is how long the limit of rows stays after it was lowered, and between
// the steps on the way back.
const lowFor = 30 * time.Second

// limit is the most rows of a batch: max_batch_size, or less for a while after a
// batch did not fit into the device's memory.
type limit struct {
	most  int
	rows  int
	until time.Time // when it is raised
}

// newLimit starts at max_batch_size; without a batch dimension it is 1.
func newLimit(most int) limit { return limit{most: max(most, 1), rows: max(most, 1)} }

// lower halves the limit after a batch of so many rows did not fit. True when
// that changed it.
func (l *limit) lower(rows int, now time.Time) bool {
	before := l.rows
	l.rows = max(min(l.rows, rows/2), 1)
	l.until = now.Add(lowFor)
	return l.rows != before
}

// raise doubles a lowered limit as often as its time has come. True when that
// changed it.
func (l *limit) raise(now time.Time) bool {
	before := l.rows
	for l.low() && !now.Before(l.until) {
		l.rows = min(2*l.rows, l.most)
		l.until = l.until.Add(lowFor)
	}
	return l.rows != before
}

func (l *limit) low() bool { return l.rows < l.most }
