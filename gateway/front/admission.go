package front

import (
	"sync"
	"time"

	"triptych/shared/failure"
)

// admission bounds what is in flight at the head of the system, where an image
// is still small. Nobody waits here: what has no room is Busy, at once, with a
// hint when to come back. Safe for concurrent use.
type admission struct {
	maxRequests int
	maxBytes    int64

	mu       sync.Mutex // guards what follows
	requests int
	bytes    int64
	// held is the mean time, lately, for which a request held its room.
	held time.Duration
	// refused counts by what had no room.
	refusedRequests, refusedBytes uint64
}

func newAdmission(maxRequests int, maxBytes int64) *admission {
	return &admission{maxRequests: maxRequests, maxBytes: maxBytes}
}

// grant is the room of one request.
type grant struct {
	admission *admission
	since     time.Time
	bytes     int64
	once      sync.Once
}

// admit takes room for a request with a body of so many bytes.
func (a *admission) admit(bytes int64) (*grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests >= a.maxRequests {
		a.refusedRequests++
		return nil, a.busy("%d requests are in flight, as many as are admitted", a.requests)
	}
	if bytes > a.maxBytes-a.bytes {
		a.refusedBytes++
		return nil, a.busy("%d bytes are in flight, there is no room for %d more", a.bytes, bytes)
	}
	a.requests++
	a.bytes += bytes
	return &grant{admission: a, since: time.Now(), bytes: bytes}, nil
}

// busy hints at the time that requests hold their room: by then what is in the
// way now has gone.
func (a *admission) busy(format string, args ...any) error {
	f := failure.New(failure.Busy, format, args...)
	f.RetryAfter = min(max(a.held, time.Second), 30*time.Second)
	return f
}

// shrink gives back what the body turned out not to need.
func (g *grant) shrink(bytes int64) {
	g.admission.mu.Lock()
	defer g.admission.mu.Unlock()
	if bytes < g.bytes {
		g.admission.bytes -= g.bytes - bytes
		g.bytes = bytes
	}
}

// release gives the room back. Safe to call twice.
func (g *grant) release() {
	g.once.Do(func() {
		a := g.admission
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requests--
		a.bytes -= g.bytes
		a.held += (time.Since(g.since) - a.held) / 8
	})
}

// usage is what is in flight and what was refused for want of room.
type usage struct {
	requests                      int
	bytes                         int64
	refusedRequests, refusedBytes uint64
}

func (a *admission) usage() usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return usage{a.requests, a.bytes, a.refusedRequests, a.refusedBytes}
}
