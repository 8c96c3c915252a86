package admission

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// lane is one line, first come, first served.
type lane struct {
	name    string
	waiting []*ticket
	cost    int64 // of all that wait
	finish  int64 // the tag at which who was let in last ends
	slots   int   // in use
	bytes   int64 // in use

	seconds prometheus.Observer // how long its images waited
	left    prometheus.Counter  // whose callers went
}

// ticket is an image in line.
type ticket struct {
	cost    int64
	lane    *lane
	virtual int64 // the queue's when it came
	came    time.Time
	in      bool          // it was let in
	turn    chan struct{} // closed when it is let in, nil when that was at once
}

func (l *lane) push(t *ticket) {
	l.waiting = append(l.waiting, t)
	l.cost += t.cost
}

func (l *lane) remove(t *ticket) {
	at := slices.Index(l.waiting, t)
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.cost -= t.cost
}

// head is who is next in line, or nil.
func (l *lane) head() *ticket {
	if len(l.waiting) == 0 {
		return nil
	}
	return l.waiting[0]
}

// start is the tag of who is next in line: where the lane's last one ended, or when
// it came, if the lane had nothing to do then.
func (l *lane) start() int64 { return max(l.finish, l.waiting[0].virtual) }
