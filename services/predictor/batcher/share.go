package batcher

import "time"

const (
	// watchedFor is how long after a request for which somebody waits more of them are
	// expected.
	watchedFor = time.Second
	// besideOthers is by how much the work of jobs may prolong a batch of requests for
	// which somebody waits, and byItself how many times as long as a row alone one of
	// its own may take: whoever comes meanwhile has to wait for it.
	besideOthers = 1.5
	byItself     = 2.0
)

// share is how many of the requests may be in a batch together, for the sake of those
// for which somebody waits.
func (l *lane) share(queue []*item, s scene) int {
	if !s.watched || !l.cost.known() {
		return len(queue)
	}
	waited := 0
	for _, it := range queue {
		if !it.bulk {
			waited += it.rows
		}
	}
	most := byItself * float64(l.cost.of(1))
	if waited > 0 {
		most = besideOthers * float64(l.cost.of(waited))
	}
	rows := 0
	for n, it := range queue {
		rows += it.rows
		if n > 0 && it.bulk && float64(l.cost.of(rows)) > most {
			return n
		}
	}
	return len(queue)
}
