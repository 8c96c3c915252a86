package batcher

import (
	"cmp"
	"slices"
	"time"
)

// lane holds the waiting requests that can share a batch, and what was learned
// about requests of its kind.
type lane struct {
	key     string
	waiting []*item // in the order in which they are to run
	rows    int
	cost    cost
	work    cost // the same of processor time; nothing where that is not known
	pace    pace
}

// oldest is when the request came that waits longest.
func (l *lane) oldest() time.Time {
	first := l.waiting[0].enqueued
	for _, it := range l.waiting[1:] {
		if it.enqueued.Before(first) {
			first = it.enqueued
		}
	}
	return first
}

// maxIdleLanes bounds the kinds of requests that are remembered while none of
// them waits: callers choose the shapes.
const maxIdleLanes = 64

// lanes is all that waits. It has no lock of its own.
type lanes struct {
	cfg      Config
	rule     rule
	byKey    map[string]*lane
	active   []*lane // those in which something waits
	seed     cost    // what a new lane knows
	levels   levels
	count    int
	sequence uint64
	round    uint64
	begun    time.Time // of the round
	watched  time.Time // when the last request came for which somebody waits
	dead     []*item   // room for those that are dropped
}

func newLanes(cfg Config) lanes {
	q := lanes{cfg: cfg, byKey: map[string]*lane{}, levels: newLevels(cfg.bulkLevel())}
	switch {
	case !cfg.Dynamic:
		q.rule = alone{}
	case cfg.Policy == Triton:
		q.rule = triton{cfg.Delay, cfg.Preferred}
	default:
		q.rule = adaptive{cfg.Delay, cfg.Preferred, cfg.Instances}
	}
	return q
}

// of is the lane of a request.
func (q *lanes) of(key []byte) *lane {
	if l := q.byKey[string(key)]; l != nil {
		return l
	}
	if len(q.byKey) >= maxIdleLanes+len(q.active) {
		q.forget()
	}
	l := &lane{key: string(key), cost: q.seed.clone(), pace: newPace(min(q.cfg.MaxBatchSize, maxForecast))}
	q.byKey[l.key] = l
	return l
}

// maxForecast bounds the rows that a pace foresees.
const maxForecast = 1024

// forget drops a lane in which nothing waits, whichever comes first.
func (q *lanes) forget() {
	for key, l := range q.byKey {
		if len(l.waiting) == 0 {
			delete(q.byKey, key)
			return
		}
	}
}

func (q *lanes) push(it *item, l *lane, now time.Time) {
	q.sequence++
	it.sequence = q.sequence
	q.insert(it, l)
	q.count++
	q.levels.waiting[it.level]++
	if !it.bulk {
		q.watched = now
	}
	if l.pace.round != q.round {
		l.pace.begin(q.round, q.begun, 0)
	}
	l.pace.arrive(now, it.rows)
}

func (q *lanes) insert(it *item, l *lane) {
	if len(l.waiting) == 0 {
		q.active = append(q.active, l)
	}
	at, _ := slices.BinarySearchFunc(l.waiting, it, byTurn)
	l.waiting = slices.Insert(l.waiting, at, it)
	l.rows += it.rows
	it.lane = l
}

func (q *lanes) remove(it *item) {
	q.take(it)
	q.count--
	q.levels.left(it.level)
}

func (q *lanes) take(it *item) {
	l := it.lane
	at, _ := slices.BinarySearchFunc(l.waiting, it, byTurn)
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.rows -= it.rows
	it.lane = nil
	if len(l.waiting) == 0 {
		at := slices.Index(q.active, l)
		q.active = slices.Delete(q.active, at, at+1)
	}
}

// moveBack lets everything of its level that waits now, or comes later, go first.
func (q *lanes) moveBack(it *item) {
	l := it.lane
	q.take(it)
	q.sequence++
	it.sequence, it.delayed = q.sequence, true
	q.insert(it, l)
}

// byTurn is the order in which requests run: by level, those that were delayed
// by their timeout last, by deadline, by arrival.
func byTurn(a, b *item) int {
	if c := cmp.Compare(a.level, b.level); c != 0 {
		return c
	}
	if a.delayed != b.delayed {
		if b.delayed {
			return -1
		}
		return 1
	}
	if c := cmp.Compare(a.due, b.due); c != 0 {
		return c
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// begin starts a round: an instance has become idle.
func (q *lanes) begin(now time.Time, ran *lane) {
	q.round++
	q.begun = now
	for _, l := range q.active {
		q.turn(l, now)
	}
	if ran != nil && len(ran.waiting) == 0 {
		q.turn(ran, now)
	}
}

// horizon is beyond what anybody waits for: twice the time of the largest batch.
// Without a cost nobody waits.
func horizon(largest time.Duration) time.Duration { return cmp.Or(2*largest, maxWait) }

func (q *lanes) turn(l *lane, now time.Time) {
	if l.pace.round+1 == q.round {
		l.pace.end(now, horizon(l.cost.of(q.cfg.MaxBatchSize)))
	}
	l.pace.begin(q.round, now, l.rows)
}

// cut is a decision to run requests of a lane.
type cut struct {
	lane    *lane
	members []*item // valid until the next decision
	rows    int
	reason  string
}

// next decides what an idle instance should run now. When that is nothing, it
// says when to look again if nothing changes; zero is never.
func (q *lanes) next(s scene) (c cut, found bool, again time.Time) {
	starving := q.levels.starving()
	s.others = len(q.active) > 1
	s.watched = !q.watched.IsZero() && s.now.Sub(q.watched) < watchedFor
	for _, l := range q.active {
		queue := q.queue(l, starving)
		if len(queue) == 0 || found && byTurn(queue[0], c.members[0]) > 0 {
			continue
		}
		v := q.rule.cut(l, queue, s)
		if v.n > 0 {
			c, found = cut{l, queue[:v.n], v.rows, v.reason}, true
			continue
		}
		if again.IsZero() || v.again.Before(again) {
			again = v.again
		}
	}
	return c, found, again
}

// queue is the lane's requests in the order in which they run now: with those of
// a level that starves in front, or nothing when the lane has none of them.
func (q *lanes) queue(l *lane, starving int) []*item {
	if starving == 0 {
		return l.waiting
	}
	from := slices.IndexFunc(l.waiting, func(it *item) bool { return it.level == starving })
	if from < 0 {
		return nil
	}
	to := from
	for to < len(l.waiting) && l.waiting[to].level == starving {
		to++
	}
	ordered := append(append(append(make([]*item, 0, len(l.waiting)), l.waiting[from:to]...), l.waiting[:from]...), l.waiting[to:]...)
	return ordered
}
