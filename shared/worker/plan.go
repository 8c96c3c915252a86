package worker

import (
	"time"

	"triptych/shared/stream"
)

const (
	// standing is how long a request for a single task stands at a level on which
	// nothing comes, and flowing how long one for several stands: it keeps slots.
	standing = 2 * time.Second
	flowing  = 300 * time.Millisecond
	// overdue is after what time beyond that a request counts as lost.
	overdue = 1500 * time.Millisecond
	// hotFor is how long after its last task a level counts as one on which tasks
	// come.
	hotFor = time.Second
	// pollEvery is the first pause of who has too few slots to keep a request standing
	// at each level, after a round in which nothing was there; it doubles up to
	// pollSlow.
	pollEvery = 25 * time.Millisecond
	pollSlow  = 200 * time.Millisecond
	// turnEvery is after how many rounds, or requests of a more urgent level that has
	// more to bring, a less urgent one has its turn.
	turnEvery = 4
)

// request asks JetStream for the tasks of a level.
type request struct {
	level  int
	number uint64
	batch  int
	stands time.Duration // 0: what is there now
}

// pull is how JetStream is told.
type pull struct {
	Batch   int           `json:"batch"`
	Expires time.Duration `json:"expires,omitempty"`
	NoWait  bool          `json:"no_wait,omitempty"`
}

func (r request) body() pull { return pull{Batch: r.batch, Expires: r.stands, NoWait: r.stands == 0} }

// plan decides for how many tasks of which level is asked, so that never more can
// come than there are slots. With slots enough a request stands at every level, a
// larger one where tasks come. With few, one level is asked after the other. The
// urgent ones go first, and none is left out. It is used by one goroutine.
type plan struct {
	levels [stream.Levels + 1]line
	number uint64
	round  uint64 // of polling
	turn   int    // how many levels this round has asked
	idle   bool   // nothing was there in this round so far
	pause  time.Duration
	poll   time.Time // no round before
}

// line is what is known of a level.
type line struct {
	number uint64 // of the request that stands
	asked  int    // tasks that may still come of it
	until  time.Time
	last   time.Time // when a task came
	full   bool      // the last request brought all that it asked for
	passed int       // requests of a more urgent level since its own
}

// hot tells whether tasks come.
func (l *line) hot(now time.Time) bool { return now.Sub(l.last) < hotFor }

// forget takes all requests for lost.
func (p *plan) forget() {
	for i := range p.levels {
		p.levels[i].asked, p.levels[i].full = 0, false
	}
}

// got tells of a task.
func (p *plan) got(level int, now time.Time) {
	if level < 1 || level > stream.Levels {
		return
	}
	l := &p.levels[level]
	l.asked = max(l.asked-1, 0)
	l.full = l.asked == 0
	l.last, p.idle, p.pause = now, false, 0
	p.turn = stream.Levels // with the most urgent again
}

// over tells that no more comes of a request.
func (p *plan) over(level int, number uint64) {
	if l := &p.levels[level]; l.number == number && l.asked > 0 {
		l.asked, l.full = 0, false
	}
}

// next are the requests to make now, with so many slots of which so many are taken.
func (p *plan) next(now time.Time, slots, taken int) []request {
	free := slots - taken
	for i := range p.levels {
		l := &p.levels[i]
		if l.asked > 0 && now.After(l.until) {
			l.asked, l.full = 0, false
		}
		free -= l.asked
	}
	if free <= 0 {
		return nil
	}
	if slots < 2*stream.Levels {
		return p.polling(now, free)
	}
	return p.standing(now, free, slots, taken)
}

// standing asks at every level at which no request stands: for one task; where the
// last request brought all that it asked for, for as many as are there and have room;
// and where tasks come one by one, for half of what is free. The rest is for a more
// urgent level that becomes active: a request that stands can't be taken back. Below
// a level that has more to bring the others have one in turnEvery requests.
func (p *plan) standing(now time.Time, free, slots, taken int) []request {
	active, full := p.activity(now)
	var requests []request
	urgent := false // the level that has more to bring has asked
	for level := 1; level <= stream.Levels && free > 0; level++ {
		l := &p.levels[level]
		if l.asked > 0 {
			continue
		}
		batch, stands := 1, standing
		switch {
		case full > 0 && level > full:
			if urgent {
				l.passed++
			}
			if l.passed < turnEvery {
				continue
			}
			l.passed, stands = 0, 0
		case level == full:
			urgent = true
			batch, stands = max(free-p.due(level), 1), 0
			if active <= 1 && batch < slots/8 && taken >= slots/2 {
				// One request for several tasks costs as much as one for each: when few
				// slots are free, more soon will be.
				continue
			}
		case active == 1 && l.hot(now):
			batch, stands = max(free/2, 1), flowing
		}
		free -= batch
		requests = append(requests, p.ask(level, batch, stands, now))
	}
	return requests
}

// activity is at how many levels tasks come, and which is the most urgent one that
// has more to bring; 0 for none.
func (p *plan) activity(now time.Time) (active, full int) {
	for level := stream.Levels; level >= 1; level-- {
		l := &p.levels[level]
		if l.hot(now) {
			active++
		}
		if l.full {
			full = level
		}
	}
	return active, full
}

// due is how many levels below one ask in the same turn.
func (p *plan) due(level int) (n int) {
	for _, l := range p.levels[level+1:] {
		if l.asked == 0 && l.passed+1 >= turnEvery {
			n++
		}
	}
	return n
}

// polling asks the levels one after the other for what is there.
func (p *plan) polling(now time.Time, free int) []request {
	for i := range p.levels {
		if p.levels[i].asked > 0 {
			return nil
		}
	}
	if p.turn == stream.Levels {
		p.turn = 0
		if p.idle {
			p.pause = min(max(2*p.pause, pollEvery), pollSlow)
			p.poll = now.Add(p.pause)
		}
	}
	if now.Before(p.poll) {
		return nil
	}
	if p.turn == 0 {
		p.round++
		p.idle = true
	}
	level := p.turn + 1
	if p.round%turnEvery == 0 { // another goes first
		level = (p.turn+1+int(p.round/turnEvery)%(stream.Levels-1))%stream.Levels + 1
	}
	p.turn++
	return []request{p.ask(level, free, 0, now)}
}

func (p *plan) ask(level, batch int, stands time.Duration, now time.Time) request {
	p.number++
	l := &p.levels[level]
	l.number, l.asked, l.until = p.number, batch, now.Add(stands+overdue)
	return request{level: level, number: p.number, batch: batch, stands: stands}
}
