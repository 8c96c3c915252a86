package worker

import (
	"context"
	"sync"
	"time"

	"triptych/shared/failure"
)

const (
	// watchedFor is how long after the last answer for which somebody waited a
	// service counts as called.
	watchedFor = time.Second
	// again is the pause after which one that waits for its lane looks again: the
	// callers may have gone.
	again = 20 * time.Millisecond
	// maxRest bounds the rest of a lane.
	maxRest = time.Second
)

// lanes let the tasks of a model run: all slots while nobody else calls the
// service, and only their share while somebody does. Then a lane also rests after
// each task, so that the processor, too, is theirs for that part of the time only.
// Safe for concurrent use.
type lanes struct {
	slots     int
	share     float64
	unwatched func() time.Duration

	mu      sync.Mutex
	used    int
	changed chan struct{}
}

func (l *lanes) watched() bool { return l.unwatched() < watchedFor }

// allowed is how many may run now.
func (l *lanes) allowed() int {
	if !l.watched() {
		return l.slots
	}
	return max(int(l.share*float64(l.slots)), 1)
}

// enter waits for a lane; leave must follow.
func (l *lanes) enter(ctx context.Context) error {
	for {
		if err := failure.OfContext(ctx); err != nil {
			return err
		}
		changed, ok := l.try()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

func (l *lanes) try() (changed <-chan struct{}, ok bool) {
	allowed := l.allowed()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used < allowed {
		l.used++
		return nil, true
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed, false
}

// leave gives the lane back of a task that was computed for so long.
func (l *lanes) leave(took time.Duration) {
	if rest := time.Duration(float64(took) * (1/l.share - 1)); rest > 0 && l.watched() {
		time.AfterFunc(min(rest, maxRest), l.give)
		return
	}
	l.give()
}

func (l *lanes) give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
