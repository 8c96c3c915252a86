// Package gauges shows the queues and stores of jobs as metrics. It asks NATS now
// and then, never during a scrape, and keeps no figure of which it does not know
// that it is of now.
package gauges

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"triptych/gateway/jobs/board"
	"triptych/shared/app"
	"triptych/shared/jobs"
	"triptych/shared/telemetry"
)

const (
	// every is the interval between two looks.
	every = 5 * time.Second
	// fresh is for how long figures are shown: one look may fail, two may not.
	fresh = 2*every + every/2
)

// Gauges are the metrics of jobs. Every gateway has them, and all tell the same.
// Safe for concurrent use.
type Gauges struct {
	store  *jobs.Store
	board  *board.Board
	logger *slog.Logger
	cancel context.CancelFunc
	loop   sync.WaitGroup

	mu   sync.Mutex
	last *figures // of the last look that succeeded; nil before the first
	at   time.Time
}

// New makes gauges that show nothing before their Part has started.
func New(store *jobs.Store, b *board.Board, tel *telemetry.Telemetry) (*Gauges, error) {
	g := &Gauges{store: store, board: b, logger: tel.Logger}
	if err := tel.Registry.Register(newCollector(g)); err != nil {
		return nil, err
	}
	return g, nil
}

// Part looks while a program runs.
func (g *Gauges) Part() app.Part {
	return app.Part{
		Name: "jobs gauges",
		Start: func(ctx context.Context) error {
			ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
			g.loop.Go(func() { g.watch(ctx) })
			return nil
		},
		Stop: func(context.Context) error {
			g.cancel()
			g.loop.Wait()
			return nil
		},
	}
}

func (g *Gauges) watch(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var trouble telemetry.Trouble
	for {
		err := g.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			trouble.Failed(ctx, g.logger, "the queues of jobs can't be read now", err)
		} else {
			trouble.Worked()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (g *Gauges) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	at := time.Now()
	f, err := read(ctx, g.store.Connection().JetStream())
	if err != nil {
		return err
	}
	f.states = g.states()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.at = f, at
	return nil
}

// present are the figures of now, or nil when there are none.
func (g *Gauges) present() *figures {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil || time.Since(g.at) > fresh || !g.store.Connection().JetStream().Conn().IsConnected() {
		return nil
	}
	return g.last
}
