package gate

import (
	"context"
	"time"

	"triptych/gateway/admission/queue"
	"triptych/shared/call"
)

// usual is the level of a request that names no priority.
const usual = 2

// caller is what counts of who asks.
type caller struct {
	level    int
	tenant   queue.Tenant
	account  *account
	deadline time.Time // zero when there is none
}

func (g *Gates) callerOf(ctx context.Context) caller {
	info := call.Of(ctx)
	c := caller{level: usual}
	if info.Priority > 0 {
		c.level = int(min(info.Priority, queue.Levels))
	}
	c.tenant, c.account = g.tenants.of(info.Tenant)
	c.deadline, _ = ctx.Deadline()
	return c
}

// left is how long the caller still waits.
func (c caller) left(now time.Time) time.Duration {
	if c.deadline.IsZero() {
		return 24 * time.Hour
	}
	return c.deadline.Sub(now)
}
