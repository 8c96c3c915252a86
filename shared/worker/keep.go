package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// keepParts is how often, within the time after which JetStream gives a task to
	// somebody else, it is told that the task is being worked on.
	keepParts = 3
	// patienceEvery is the pause between two looks at what that time is.
	patienceEvery = time.Minute
	// patienceWithin bounds one look.
	patienceWithin = 2 * time.Second
)

// keep says of all tasks that are held that they are worked on, and sees to it that
// those do not count as failed of which JetStream could not hear.
func (d *Door) keep(ctx context.Context) {
	conn := d.store.Connection().JetStream().Conn()
	back := conn.StatusChanged(nats.CONNECTED)
	defer conn.RemoveStatusListener(back)
	asked := time.Now()
	for {
		beat := time.NewTimer(d.patience() / keepParts)
		select {
		case <-ctx.Done():
			beat.Stop()
			return
		case <-back:
		case <-d.owed.woke:
		case <-beat.C:
		}
		beat.Stop()
		if conn.Status() != nats.CONNECTED {
			continue
		}
		d.beat(ctx, conn)
		if time.Since(asked) > patienceEvery {
			asked = time.Now()
			d.askPatience(ctx)
		}
	}
}

// beat says once that all is being worked on.
func (d *Door) beat(ctx context.Context, conn *nats.Conn) {
	now, wait, list := time.Now(), d.patience(), d.held.list()
	for _, held := range list {
		// While the connection was lost, or the process stood still, the task has gone
		// to another.
		if e, ok := held.silence(now, wait); ok {
			d.owed.add(e)
		}
		held.progress()
	}
	if len(list) > 0 && conn.FlushTimeout(wait/keepParts) == nil {
		for _, held := range list {
			held.hear(now)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait/keepParts)
	defer cancel()
	d.owed.pay(ctx, d.store)
}

// patience is after what time without a word JetStream gives a task to somebody else:
// the least of all models' consumers, whatever this service's own settings are.
func (d *Door) patience() time.Duration {
	least := time.Duration(0)
	d.each(func(p *puller) {
		if own := time.Duration(p.patience.Load()); own > 0 && (least == 0 || own < least) {
			least = own
		}
	})
	if least == 0 {
		return d.store.Connection().Limits().AckWait
	}
	return least
}

// askPatience looks whether it was changed.
func (d *Door) askPatience(ctx context.Context) {
	found := map[string]*atomic.Int64{}
	d.each(func(p *puller) { found[p.model] = &p.patience })
	ctx, cancel := context.WithTimeout(ctx, patienceWithin)
	defer cancel()
	for model, patience := range found {
		if wait, err := d.store.Connection().AckWait(ctx, model); err == nil {
			patience.Store(int64(wait))
		}
	}
}
