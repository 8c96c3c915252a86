// Package budget bounds how many calls are made a second time: a part of those that
// were made lately, and some a second whatever that is, so that second tries can't
// become a storm that keeps a fleet down. It is Finagle's RetryBudget
// (com.twitter.finagle.service), whose numbers are the gateway's defaults.
package budget

import (
	"sync"
	"time"
)

// Config is how much is granted.
type Config struct {
	// Percent of the calls of the last ten seconds may be made again.
	Percent int
	// PerSecond may be made again beside them, so that a fleet with little to do can
	// mend a failure too.
	PerSecond int
}

// Calls count for so many seconds.
const window = 10

// second is what happened in one.
type second struct {
	number      int64
	calls, made int
}

// Budget grants second tries. Safe for concurrent use.
type Budget struct {
	cfg   Config
	began time.Time

	mu      sync.Mutex
	seconds [window]second
}

// New makes a budget that grants at once what PerSecond gives in ten seconds.
func New(cfg Config) *Budget { return &Budget{cfg: cfg, began: time.Now()} }

// Call counts a call that is made for the first time.
func (b *Budget) Call() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now().calls++
}

// Take asks for leave to make a call again.
func (b *Budget) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.now()
	if b.left() < 1 {
		return false
	}
	s.made++
	return true
}

// Left is how many calls may be made again now.
func (b *Budget) Left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now()
	return max(0, int(b.left()))
}

// now is the second that is running.
func (b *Budget) now() *second {
	number := int64(time.Since(b.began) / time.Second)
	s := &b.seconds[number%window]
	if s.number != number {
		*s = second{number: number}
	}
	return s
}

func (b *Budget) left() float64 {
	oldest := int64(time.Since(b.began)/time.Second) - window
	left := float64(b.cfg.PerSecond * window)
	for _, s := range b.seconds {
		if s.number > oldest {
			left += float64(s.calls*b.cfg.Percent)/100 - float64(s.made)
		}
	}
	return left
}
