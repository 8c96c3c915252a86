package admission

import "time"

// reservedPart is which part of the budget large images leave to small ones.
const reservedPart = 8

func (q *Queue) reserve() int64 { return q.cfg.Budget / reservedPart }

// dispatch lets in who is next as long as there is room.
func (q *Queue) dispatch() {
	for q.slots < q.cfg.Slots {
		l := q.next()
		if l == nil {
			return
		}
		t, start := l.head(), l.start()
		l.remove(t)
		q.virtual, l.finish = max(q.virtual, start), start+t.cost
		q.take(l, t.cost)
		t.in = true
		if t.turn != nil {
			close(t.turn)
		}
	}
}

// next is the lane whose turn it is: the one with the lower tag. It is nil when
// nobody waits, or when there is no room yet for who is next, who then is not
// overtaken: only what a large image itself may not take, because others of its
// kind have it, holds up nobody else.
func (q *Queue) next() *lane {
	small, large := q.small.head(), q.large.head()
	if large != nil && !q.roomAmongLarge(large.cost) {
		// Who is held up by its own limits saves no turns up.
		q.large.finish = max(q.large.finish, q.virtual)
		large = nil
	}
	switch {
	case large != nil && (small == nil || q.large.start() <= q.small.start()):
		if q.roomForLarge(large.cost) {
			return &q.large
		}
	case small != nil && q.roomForSmall(small.cost):
		return &q.small
	}
	return nil
}

// roomAmongLarge tells whether the other large images leave room for one.
func (q *Queue) roomAmongLarge(cost int64) bool {
	return q.large.slots == 0 || q.large.slots < q.cfg.Slots-1 && q.large.bytes+cost <= q.cfg.Budget-q.reserve()
}

// roomForLarge tells whether small images leave room too. One that is larger than
// the budget has to do with small ones in their reserve.
func (q *Queue) roomForLarge(cost int64) bool {
	return q.bytes+cost <= q.cfg.Budget || q.large.slots == 0 && q.small.bytes <= q.reserve()
}

func (q *Queue) roomForSmall(cost int64) bool {
	return q.slots == 0 || q.bytes+cost <= q.cfg.Budget || q.small.bytes+cost <= q.reserve()
}

func (q *Queue) take(l *lane, cost int64) {
	q.slots++
	q.began, q.last = time.Now(), l
	l.slots++
	q.bytes += cost
	l.bytes += cost
}

func (q *Queue) give(l *lane, cost int64) {
	q.slots--
	l.slots--
	q.bytes -= cost
	l.bytes -= cost
}
