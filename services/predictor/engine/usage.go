package engine

import (
	"sync"
	"time"
)

// usage is how long threads of the runtime have worked on runs on the CPU, of all
// models of the library together, by the clock. Safe for concurrent use.
type usage struct {
	mu      sync.Mutex
	threads int // of the runs that are going on
	since   time.Time
	before  time.Duration // up to since
}

// add notes that so many threads more are busy from now on, or fewer.
func (u *usage) add(threads int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.before, u.since = u.at(now), now
	u.threads += threads
}

// total is the time of all threads up to now.
func (u *usage) total() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.at(time.Now())
}

func (u *usage) at(now time.Time) time.Duration {
	return u.before + time.Duration(u.threads)*now.Sub(u.since)
}
