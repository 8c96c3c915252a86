package worker

import (
	"context"
	"sync"
	"time"

	"triptych/shared/failure"
)

// house knows how many tasks of jobs are held in the process, and lets one that may
// be what killed another worker have it for itself. Safe for concurrent use.
type house struct {
	mu      sync.Mutex
	held    int
	suspect bool // one is held; nothing else is taken in
	changed chan struct{}
}

// enter counts a task. It is false while a suspect has the house.
func (h *house) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.suspect {
		return false
	}
	h.held++
	return true
}

func (h *house) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held--
	h.tell()
}

func (h *house) tell() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// closed tells whether a suspect has, or waits for, the house.
func (h *house) closed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.suspect
}

// alone waits until nothing else is held; open must follow. Busy says that another
// suspect has the house, or that the others did not end within the time.
func (h *house) alone(ctx context.Context, within time.Duration) error {
	h.mu.Lock()
	if h.suspect {
		h.mu.Unlock()
		return failure.New(failure.Busy, "another task that has to run alone runs")
	}
	h.suspect = true
	h.mu.Unlock()
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		changed, alone := h.look()
		if alone {
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			h.open()
			return failure.New(failure.Busy, "other tasks take too long for one that has to run alone")
		case <-ctx.Done():
			h.open()
			return failure.OfContext(ctx)
		}
	}
}

func (h *house) look() (changed <-chan struct{}, alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == 1 {
		return nil, true
	}
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed, false
}

// open lets others in again.
func (h *house) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.suspect = false
}
