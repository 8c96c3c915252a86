package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// patience is how long trouble at the start is not worth a warning: what others make
// may not be there yet.
const patience = 15 * time.Second

// Trouble tells a log of something that is tried again and again: once while it fails,
// and not at once as long as it has never worked. Safe for concurrent use. The zero
// value is ready.
type Trouble struct {
	mu     sync.Mutex
	since  time.Time // of the first failure in a row
	worked bool
	told   string
}

// Failed takes note of a failure, and warns of it when nothing like it was told since
// the last success; of one before the first success only when failures have lasted.
func (t *Trouble) Failed(ctx context.Context, logger *slog.Logger, message string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = time.Now()
	}
	if !t.worked && time.Since(t.since) < patience {
		logger.DebugContext(ctx, message, "error", err)
		return
	}
	if text := err.Error(); text != t.told {
		t.told = text
		logger.WarnContext(ctx, message, "error", err)
	}
}

// Worked takes note of a success.
func (t *Trouble) Worked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since, t.worked, t.told = time.Time{}, true, ""
}
