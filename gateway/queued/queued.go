// Package queued carries with a request what the stages on its road say of their
// queues, from who calls them to who decides how much is let in.
package queued

import (
	"context"
	"sync/atomic"
	"time"
)

// Wait is how long a request will have waited in queues on its road. Safe for
// concurrent use: the steps of a graph may run side by side.
type Wait struct{ nanoseconds atomic.Int64 }

// Time is what was added up.
func (w *Wait) Time() time.Duration { return time.Duration(w.nanoseconds.Load()) }

type key struct{}

// With makes the context of a request on whose road w adds up.
func With(ctx context.Context, w *Wait) context.Context { return context.WithValue(ctx, key{}, w) }

// Add adds the wait in the queue of one stage, when somebody wants to know.
func Add(ctx context.Context, d time.Duration) {
	if w, ok := ctx.Value(key{}).(*Wait); ok {
		w.nanoseconds.Add(int64(d))
	}
}
