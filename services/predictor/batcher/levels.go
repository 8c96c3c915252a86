package batcher

// patience is how many batches may be cut without a request of a level in which
// one waits. So the first request of a level is in one of the next patience
// batches, or, when several levels have waited as long, in one of the few after
// them: patience + Levels - 1 is the bound.
const patience = 8

// levels sees to it that no priority level starves: a level that was passed over
// too often goes first once. Index 0 is nobody's.
type levels struct {
	waiting []int // requests
	passed  []int // batches since one had a request of the level
}

func newLevels(count int) levels {
	return levels{waiting: make([]int, count+1), passed: make([]int, count+1)}
}

// starving is the level that was passed over longest and too long, or 0.
func (l *levels) starving() int {
	worst := 0
	for level := 1; level < len(l.passed); level++ {
		if l.passed[level] >= patience-1 && l.passed[level] > l.passed[worst] {
			worst = level
		}
	}
	return worst
}

// cut counts a batch.
func (l *levels) cut(members []*item) {
	for level := 1; level < len(l.passed); level++ {
		if l.waiting[level] > 0 {
			l.passed[level]++
		}
	}
	for _, it := range members {
		l.passed[it.level] = 0
	}
}

func (l *levels) left(level int) {
	if l.waiting[level]--; l.waiting[level] == 0 {
		l.passed[level] = 0
	}
}
