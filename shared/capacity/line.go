package capacity

import (
	"sync"
	"time"
)

// Pause is how long nothing more is said of a version over a connection of which
// something was said: a trailer whose value is never the same twice costs a hop more
// than ten microseconds, and a queue is not another one each millisecond. A failure
// tells in any case.
const Pause = 20 * time.Millisecond

// mostSpoken bounds the versions of which a connection remembers when it spoke.
const mostSpoken = 256

// Line is a connection over which answers go. Safe for concurrent use.
type Line struct {
	mu   sync.Mutex
	last map[spoken]time.Time
}

// spoken is of what was said something.
type spoken struct {
	model   string
	version int64
}

// NewLine makes the line of a new connection.
func NewLine() *Line { return &Line{last: map[spoken]time.Time{}} }

// due tells whether it is time to say something again, and notes that it is said.
func (l *Line) due(s spoken, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.last[s]
	if known && now.Sub(last) < Pause {
		return false
	}
	if !known && len(l.last) >= mostSpoken {
		clear(l.last)
	}
	l.last[s] = now
	return true
}
