// Package queue orders those who wait: the more urgent level goes first, and within
// a level the tenants take turns by their weights. It also says who loses when there
// are too many. It has no clock, bounds nothing by itself and wakes nobody.
package queue

import "math"

// Levels is how many levels of priority there are: 1 is the most urgent, and what
// is beyond the last is the last.
const Levels = 8

// maxTenants bounds the tenants of one level that are remembered while none of
// their requests waits.
const maxTenants = 256

// Tenant is for whom a request waits, and its share against that of others.
type Tenant struct {
	Name   string
	Weight float64
}

// Item is one who waits.
type Item[T any] struct {
	Value T
	level int
	line  *line[T]
	// older and newer are its neighbours in its tenant's line.
	older, newer *Item[T]
}

// line is what waits for one tenant in one level, oldest first.
type line[T any] struct {
	tenant Tenant
	// start is the virtual time at which its next one may begin.
	start          float64
	oldest, newest *Item[T]
	n              int
}

// level is served by start-time fair queueing: every tenant's next request has a
// start tag, the smallest goes first and moves its tenant's tag on by one request
// over the weight (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM
// 1996).
type level[T any] struct {
	lines map[string]*line[T]
	now   float64 // the virtual time: the start tag of the one that went last
	n     int
}

// Queue is those who wait. It is not safe for concurrent use.
type Queue[T any] struct {
	levels [Levels + 1]level[T]
	n      int
}

// Len is how many wait.
func (q *Queue[T]) Len() int { return q.n }

// LenOf is how many wait in a level.
func (q *Queue[T]) LenOf(priority int) int { return q.levels[clamp(priority)].n }

func clamp(priority int) int { return min(max(priority, 1), Levels) }

// Push lets one wait.
func (q *Queue[T]) Push(priority int, tenant Tenant, value T) *Item[T] {
	priority = clamp(priority)
	l := &q.levels[priority]
	item := &Item[T]{Value: value, level: priority, line: l.of(tenant)}
	item.line.append(item)
	l.n++
	q.n++
	return item
}

// of is a tenant's line.
func (l *level[T]) of(tenant Tenant) *line[T] {
	if l.lines == nil {
		l.lines = map[string]*line[T]{}
	}
	at, ok := l.lines[tenant.Name]
	if !ok {
		l.forget()
		at = &line[T]{start: l.now}
		l.lines[tenant.Name] = at
	}
	at.tenant = tenant
	if at.n == 0 {
		at.start = max(at.start, l.now)
	}
	return at
}

// forget makes room for another tenant: those who have had no more than their share
// are as good as new, and when that is not enough the rest are let off.
func (l *level[T]) forget() {
	for _, all := range [...]bool{false, true} {
		for name, at := range l.lines {
			if len(l.lines) < maxTenants {
				return
			}
			if at.n == 0 && (all || at.start <= l.now) {
				delete(l.lines, name)
			}
		}
	}
}

// Pop takes the one out whose turn it is.
func (q *Queue[T]) Pop() (*Item[T], bool) {
	for i := range q.levels {
		if l := &q.levels[i]; l.n > 0 {
			at := l.next()
			l.now = at.start
			at.start += 1 / at.tenant.Weight
			item := at.oldest
			q.Remove(item)
			return item, true
		}
	}
	return nil, false
}

// next is the line whose turn it is.
func (l *level[T]) next() *line[T] {
	var first *line[T]
	for _, at := range l.lines {
		if at.n > 0 && (first == nil || before(at, first)) {
			first = at
		}
	}
	return first
}

func before[T any](a, b *line[T]) bool {
	if a.start != b.start {
		return a.start < b.start
	}
	return a.tenant.Name < b.tenant.Name
}

// Remove takes an item out that waits.
func (q *Queue[T]) Remove(item *Item[T]) {
	item.line.remove(item)
	l := &q.levels[item.level]
	l.n--
	q.n--
	if l.n == 0 { // nobody is owed anything any more
		clear(l.lines)
		l.now = 0
	}
}

// Ahead is how many of those who wait would go before a newcomer: all of more
// urgent levels, those of its tenant, and of the others what they get in that time.
func (q *Queue[T]) Ahead(priority int, tenant Tenant) int {
	priority = clamp(priority)
	ahead := 0
	for i := range priority {
		ahead += q.levels[i].n
	}
	l := &q.levels[priority]
	own := 0
	if at, ok := l.lines[tenant.Name]; ok {
		own = at.n
	}
	for name, at := range l.lines {
		if name == tenant.Name {
			ahead += own
			continue
		}
		ahead += min(at.n, int(math.Ceil(float64(own+1)*at.tenant.Weight/tenant.Weight)))
	}
	return ahead
}

// Loser is who has to go when a newcomer is one too many: the newest of the least
// urgent level, of the tenant that is furthest above its share there. It is nil
// when that is the newcomer.
func (q *Queue[T]) Loser(priority int, tenant Tenant) *Item[T] {
	priority = clamp(priority)
	last := Levels
	for last > 0 && q.levels[last].n == 0 {
		last--
	}
	if last < priority {
		return nil
	}
	var most *line[T]
	for name, at := range q.levels[last].lines {
		if at.n > 0 && (last > priority || name != tenant.Name) && (most == nil || over(at) > over(most)) {
			most = at
		}
	}
	if last == priority && (most == nil || q.shareOf(last, tenant) >= over(most)) {
		return nil
	}
	return most.newest
}

// shareOf is how much a tenant would have of a level with one more, in shares.
func (q *Queue[T]) shareOf(level int, tenant Tenant) float64 {
	n := 1
	if at, ok := q.levels[level].lines[tenant.Name]; ok {
		n += at.n
	}
	return float64(n) / tenant.Weight
}

// over is how much a tenant has of the queue, in shares.
func over[T any](at *line[T]) float64 { return float64(at.n) / at.tenant.Weight }

func (l *line[T]) append(item *Item[T]) {
	item.older = l.newest
	if l.newest == nil {
		l.oldest = item
	} else {
		l.newest.newer = item
	}
	l.newest = item
	l.n++
}

func (l *line[T]) remove(item *Item[T]) {
	if item.older == nil {
		l.oldest = item.newer
	} else {
		item.older.newer = item.newer
	}
	if item.newer == nil {
		l.newest = item.older
	} else {
		item.newer.older = item.older
	}
	item.older, item.newer = nil, nil
	l.n--
}
