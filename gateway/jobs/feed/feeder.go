// Package feed is the one who feeds: of all gateways, the one that holds the lease
// starts the items of jobs, finds those that were lost and starts them again, ends
// jobs, and deletes what nobody needs any longer. What it knows it has from the
// board and from what is stored; it keeps nothing that another could not find out.
// It answers no requests.
package feed

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"triptych/gateway/jobs/board"
	"triptych/shared/app"
	"triptych/shared/jobs"
	"triptych/shared/telemetry"
)

// Feeder feeds while it holds the lease. Safe for concurrent use.
type Feeder struct {
	cfg     Config
	store   *jobs.Store
	board   *board.Board
	tel     *telemetry.Telemetry
	metrics *metrics
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// New makes a feeder that does nothing before it runs.
func New(cfg Config, store *jobs.Store, b *board.Board, tel *telemetry.Telemetry) *Feeder {
	return &Feeder{cfg: cfg, store: store, board: b, tel: tel, metrics: newMetrics(tel)}
}

// Part feeds while a program runs. At its end the lease is given up, so that
// another gateway goes on at once.
func (f *Feeder) Part() app.Part {
	return app.Part{
		Name: "feeding of jobs",
		Start: func(ctx context.Context) error {
			ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
			f.running.Go(func() { f.Run(ctx) })
			return nil
		},
		Stop: func(context.Context) error {
			f.cancel()
			f.running.Wait()
			return nil
		},
	}
}

// Run feeds, whenever it holds the lease, until ctx ends.
func (f *Feeder) Run(ctx context.Context) {
	l := &lease{bucket: f.store.Records, holder: uuid.NewString(), takeover: f.cfg.Takeover, logger: f.tel.Logger}
	l.run(ctx, f.lead)
}

const (
	// settle is the pause between two looks at whether the board has caught up.
	settle = 20 * time.Millisecond
	// beat is how often there is a look at what nobody tells of, and tick how often
	// at what was put off.
	beat = time.Second
	tick = 50 * time.Millisecond
)

// lead feeds until ctx ends.
func (f *Feeder) lead(ctx context.Context, epoch uint32) {
	for f.board.Ready() != nil {
		if pause(ctx, settle); ctx.Err() != nil {
			return
		}
	}
	f.metrics.leader.Set(1)
	defer f.metrics.leader.Set(0)
	newTerm(ctx, f, epoch).run()
}
