package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// Fleet is all upstreams. Safe for concurrent use.
type Fleet struct {
	config  Config
	logger  *slog.Logger
	began   time.Time
	pools   []*pool
	catalog atomic.Pointer[Catalog]
	asked   atomic.Pointer[time.Time]     // when the last round that is over began
	turned  atomic.Pointer[time.Time]     // when it ended; see Live
	again   chan struct{}                 // asks for a round before it is due
	over    atomic.Pointer[chan struct{}] // closed at the end of the round
	leaving sync.Mutex                    // of who leaves a replica

	mu     sync.Mutex // guards what follows
	cancel context.CancelFunc
	closed bool
	rounds sync.WaitGroup
}

// New makes a fleet that knows nothing yet; nobody is asked before Start.
func New(cfg Config, rpcConfig rpc.Config, tel *telemetry.Telemetry) (*Fleet, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Fleet{config: cfg, logger: tel.Logger, began: time.Now(), again: make(chan struct{}, 1)}
	over := make(chan struct{})
	f.over.Store(&over)
	f.catalog.Store(newCatalog(nil))
	for _, a := range cfg.Addresses {
		f.pools = append(f.pools, newPool(a, cfg, rpcConfig))
	}
	if err := tel.Registry.Register(newCollector(f)); err != nil {
		return nil, failure.Wrap(err, failure.Internal, "register the metrics of the upstreams")
	}
	return f, nil
}

// Part asks the upstreams for as long as the app runs. It starts once.
func (f *Fleet) Part() app.Part {
	return app.Part{Name: "discovery", Start: f.start, Stop: f.stop}
}

func (f *Fleet) start(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.cancel != nil {
		return failure.New(failure.Conflict, "discovery has been started or stopped before")
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.turn()
	f.rounds.Go(func() { f.run(ctx) })
	f.rounds.Go(func() { f.watch(ctx) })
	return nil
}

func (f *Fleet) run(ctx context.Context) {
	tick := time.NewTicker(f.config.Interval)
	defer tick.Stop()
	for {
		f.round(ctx)
		select {
		case <-tick.C:
		case <-f.again:
		case <-ctx.Done():
			return
		}
	}
}

// stop may be called more than once, and before start.
func (f *Fleet) stop(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.cancel != nil {
		f.cancel()
		f.rounds.Wait()
		for _, p := range f.pools {
			p.asks.Wait()
		}
	}
	f.turned.Store(nil)
	f.announce()
	return f.close()
}

func (f *Fleet) close() error {
	var failed error
	for _, p := range f.pools {
		failed = errors.Join(failed, p.close())
	}
	return failed
}

// round asks every upstream and publishes what it learned.
func (f *Fleet) round(ctx context.Context) {
	began := time.Now()
	ctx = untraced(ctx)
	answers := make([]answer, len(f.pools))
	var all sync.WaitGroup
	for i, p := range f.pools {
		all.Go(func() { answers[i] = p.ask(ctx) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return
	}
	fresh, old := newCatalog(answers), f.catalog.Load()
	if f.Settled() == nil && fresh.same(old) {
		fresh.Generation = old.Generation
	} else {
		fresh.Generation = old.Generation + 1
		f.tell(old, fresh)
	}
	f.catalog.Store(fresh)
	f.asked.Store(&began)
	f.turn()
	f.announce()
}

// tell says that there is a new catalog. That somebody has gone is worth a warning.
func (f *Fleet) tell(old, fresh *Catalog) {
	level := slog.LevelInfo
	if f.Settled() == nil && len(fresh.away) > len(old.away) {
		level = slog.LevelWarn
	}
	away := make([]string, len(fresh.away))
	for i, err := range fresh.away {
		away[i] = failure.Message(err)
	}
	f.logger.Log(context.Background(), level, "upstreams changed", "models", len(fresh.models), "away", away)
}

// untraced makes the servers that are asked leave their spans out: they follow
// the decision of whoever calls. Nobody looks for rounds of asking among traces.
func untraced(ctx context.Context) context.Context {
	var id trace.TraceID
	var span trace.SpanID
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(span[:])
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span}))
}

// Asked is when the last round that is over began; the zero time before the first.
func (f *Fleet) Asked() time.Time {
	if t := f.asked.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// Catalog is what the last round found.
func (f *Fleet) Catalog() *Catalog { return f.catalog.Load() }

// Settled says whether every upstream has been asked once.
func (f *Fleet) Settled() error {
	if f.asked.Load() == nil {
		return failure.New(failure.Unavailable, "the upstreams have not been asked yet")
	}
	return nil
}

// Ready says whether every upstream answers: of an upstream with many replicas,
// one.
func (f *Fleet) Ready() error {
	if err := f.Settled(); err != nil {
		return err
	}
	if away := f.Catalog().away; len(away) > 0 {
		return away[0]
	}
	return nil
}
