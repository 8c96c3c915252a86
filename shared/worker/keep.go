package worker

import (
	"context"
	"time"
)

// keepParts is how often, within the time after which JetStream gives a task to
// somebody else, it is told that the task is being worked on.
const keepParts = 3

// keep says of all tasks that are held that they are worked on.
func (d *Door) keep(ctx context.Context) {
	tick := time.NewTicker(d.store.Connection().Limits().AckWait / keepParts)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.held.progress()
		}
	}
}
