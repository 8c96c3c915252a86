package feed

import (
	"slices"
	"time"

	"triptych/shared/stream"
)

const (
	// maxActive is how many jobs of a level are fed in turn; the others wait until one
	// of them has had a page.
	maxActive = 4
	// reserve is the part of the credit, one in so many, that each level leaves to
	// those more urgent.
	reserve = 8
	// firstPause and lastPause bound the pause after a queue was full.
	firstPause, lastPause = 20 * time.Millisecond, time.Second
)

// weight is how many turns a level has for each of the level below it.
const weight = 4

// road is the jobs of one model.
type road struct {
	name   string
	credit int
	jobs   int // that are open, whether anything of them waits here or not
	flying int
	levels [stream.Levels]*level
	// paused is until when nothing is started, because a queue was full.
	paused time.Time
	pause  time.Duration
}

// level is the jobs of a pipeline of one priority.
type level struct {
	weight  int
	most    int // of it on their way
	flying  int
	hands   int // pages in hand
	turns   int
	waiting []*job
	active  []*job
	next    int // of the active jobs
}

func newRoad(name string, credit int) *road {
	p := &road{name: name, credit: credit}
	turns := 1
	for i := len(p.levels) - 1; i >= 0; i-- {
		p.levels[i] = &level{weight: turns, most: credit - i*credit/reserve}
		turns *= weight
	}
	return p
}

// enlist puts a job that has something left to start at the end of those that
// wait.
func (p *road) enlist(j *job) {
	if j.place == idle && !j.ending && (!j.listed || len(j.todo) > 0 || len(j.again) > 0) {
		j.place = waiting
		j.level.waiting = append(j.level.waiting, j)
	}
}

func (p *road) forget(j *job) {
	same := func(other *job) bool { return other == j }
	j.level.waiting = slices.DeleteFunc(j.level.waiting, same)
	j.level.active = slices.DeleteFunc(j.level.active, same)
	j.place = idle
}

// rotate makes room for jobs that wait: those that have nothing in hand go, to the
// end of the line if something of them is left to read.
func (l *level) rotate() {
	for i := 0; i < len(l.active); {
		j := l.active[i]
		rest := len(j.todo) > 0 || !j.listed
		if j.loading || len(j.hands) > 0 || len(j.again) > 0 || rest && (j.fed == 0 || len(l.waiting) == 0) {
			i++
			continue
		}
		l.active = slices.Delete(l.active, i, i+1)
		j.place = idle
		j.road.enlist(j)
	}
	for len(l.active) < maxActive && len(l.waiting) > 0 {
		j := l.waiting[0]
		l.waiting = l.waiting[1:]
		j.place, j.fed = active, 0
		l.active = append(l.active, j)
	}
}

// pick takes the next item to start, nil for none: levels by their weights, the
// jobs of a level in turn.
func (p *road) pick(now time.Time) *piece {
	if now.Before(p.paused) {
		return nil
	}
	var best *level
	total := 0
	for _, l := range p.levels {
		if p.flying >= l.most || !l.ready() {
			continue
		}
		l.turns += l.weight
		total += l.weight
		if best == nil || l.turns > best.turns {
			best = l
		}
	}
	if best == nil {
		return nil
	}
	best.turns -= total
	return best.pop()
}

func (l *level) ready() bool {
	for _, j := range l.active {
		if j.peek() != nil {
			return true
		}
	}
	return false
}

func (l *level) pop() *piece {
	for range l.active {
		l.next = (l.next + 1) % len(l.active)
		j := l.active[l.next]
		w := j.peek()
		if w == nil {
			continue
		}
		if len(j.again) > 0 {
			j.again = j.again[1:]
		} else {
			j.hands[0].pieces = j.hands[0].pieces[1:]
		}
		delete(w.page.queued, w.item.GetIndex())
		return w
	}
	return nil
}

// peek is the next item of a job that is in hand and has no verdict.
func (j *job) peek() *piece {
	for len(j.again) > 0 {
		if w := j.again[0]; w.page.undecided[w.item.GetIndex()] {
			return w
		}
		j.again = j.again[1:]
	}
	if len(j.hands) == 0 {
		return nil
	}
	for h := j.hands[0]; len(h.pieces) > 0; h.pieces = h.pieces[1:] {
		if w := h.pieces[0]; w.page.undecided[w.item.GetIndex()] {
			return w
		}
	}
	return nil
}

// slow makes a pipeline wait: a queue was full, or nothing could be stored.
func (p *road) slow(now time.Time) {
	if now.Before(p.paused) {
		return
	}
	p.pause = min(max(2*p.pause, firstPause), lastPause)
	p.paused = now.Add(p.pause)
}
