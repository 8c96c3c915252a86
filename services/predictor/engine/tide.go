package engine

import (
	"sync"
	"time"
)

// ebbAfter is how long after its last peak a session's memory is given back.
const ebbAfter = 10 * time.Second

// longest is the longest pause before an ebb that has left something is tried again, in
// quiet times; each is twice the one before.
const longest = 64

// tide watches how much goes through a session and notices when a peak is over,
// for an arena by itself keeps the memory of its largest run for ever. It
// counts the bytes of inputs, which grow with the batch as all else does.
type tide struct {
	quiet  time.Duration
	spread int64       // runs at once that are no peak
	ebb    func() bool // gives memory back; false when runs held on to it meanwhile

	mu      sync.Mutex
	level   int64 // bytes of the runs that are going on
	least   int64 // bytes of the smallest run ever
	high    int64 // highest level since the last ebb
	peaked  time.Time
	pause   time.Duration // before the next ebb when the last one left something; 0: quiet
	timer   *time.Timer
	armed   bool
	urgent  bool // not to wait until the peak is over
	stopped bool

	ebbing sync.WaitGroup
}

// rise is the begin of a run.
func (t *tide) rise(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.level += bytes
	if bytes > 0 && (t.least == 0 || bytes < t.least) {
		t.least = bytes
	}
	t.high = max(t.high, t.level)
	if 2*t.level > t.high {
		t.peaked = time.Now()
	}
	if !t.armed && t.high > t.calm() {
		t.arm(t.quiet)
	}
}

// fall is the end of a run.
func (t *tide) fall(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if 2*t.level > t.high {
		t.peaked = time.Now()
	}
	t.level -= bytes
}

// calm is the level that is worth no ebb: the memory would be wanted again.
func (t *tide) calm() int64 { return 2 * t.spread * t.least }

// now asks for an ebb without waiting for the peak to be over, such as when
// memory has run out.
func (t *tide) now() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.urgent = true
	t.arm(0)
}

// arm sets the timer. There is one at a time, however many runs there are.
func (t *tide) arm(after time.Duration) {
	if t.stopped {
		return
	}
	if t.armed && !t.timer.Stop() {
		return // it is about to look
	}
	if !t.armed {
		t.ebbing.Add(1)
	}
	t.armed = true
	t.timer = time.AfterFunc(after, t.look)
}

// look gives memory back if the peak is over, or waits on.
func (t *tide) look() {
	t.mu.Lock()
	t.armed = false
	defer t.ebbing.Done()
	if 2*t.level > t.high {
		t.peaked = time.Now() // a long run
	}
	if left := max(t.quiet, t.pause) - time.Since(t.peaked); left > 0 && !t.urgent {
		t.arm(left)
		t.mu.Unlock()
		return
	}
	over := !t.stopped && (t.urgent || t.high > t.calm())
	high := t.high
	t.high, t.urgent = t.level, false
	t.mu.Unlock()
	if !over {
		return
	}
	whole := t.ebb()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pause = min(2*max(t.pause, t.quiet/2), longest*t.quiet); whole {
		t.pause = 0
		return
	}
	t.high, t.peaked = max(t.high, high, t.calm()+1), time.Now()
	if !t.armed {
		t.arm(t.pause)
	}
}

// stop ends the watch and waits for an ebb that is going on.
func (t *tide) stop() {
	t.mu.Lock()
	t.stopped = true
	if t.armed && t.timer.Stop() {
		t.armed = false
		t.ebbing.Done()
	}
	t.mu.Unlock()
	t.ebbing.Wait()
}
