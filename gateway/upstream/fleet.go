package upstream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"triptych/proto/inference"
	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
)

// Fleet is all upstreams. Safe for concurrent use.
type Fleet struct {
	config  Config
	logger  *slog.Logger
	pools   []*pool
	catalog atomic.Pointer[Catalog]
	next    atomic.Uint64 // for taking turns between pools
	asked   atomic.Pointer[time.Time] // when the last round that is over began

	cancel context.CancelFunc
	done   chan struct{}
}

// New makes the connections; nobody is asked before Start.
func New(cfg Config, rpcConfig rpc.Config, tel *telemetry.Telemetry) (*Fleet, error) {
	f := &Fleet{config: cfg, logger: tel.Logger, done: make(chan struct{})}
	f.catalog.Store(newCatalog(nil))
	for _, a := range cfg.Addresses {
		p, err := newPool(a, rpcConfig)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.pools = append(f.pools, p)
	}
	return f, nil
}

// Part asks the upstreams for as long as the app runs.
func (f *Fleet) Part() app.Part {
	return app.Part{Name: "discovery", Start: f.start, Stop: f.stop}
}

func (f *Fleet) start(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	go func() {
		defer close(f.done)
		tick := time.NewTicker(f.config.Interval)
		defer tick.Stop()
		for {
			f.round(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

func (f *Fleet) stop(context.Context) error {
	f.cancel()
	<-f.done
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
	answers := make([][]report, len(f.pools))
	var all sync.WaitGroup
	for i, p := range f.pools {
		all.Go(func() { answers[i] = p.ask(ctx) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return
	}
	var reports []report
	for _, a := range answers {
		reports = append(reports, a...)
	}
	fresh, old := newCatalog(reports), f.catalog.Load()
	if f.Settled() == nil && fresh.same(old) {
		fresh.Generation = old.Generation
	} else {
		fresh.Generation = old.Generation + 1
		f.logger.Info("upstreams changed", "models", len(fresh.models), "away", fresh.away)
	}
	f.catalog.Store(fresh)
	f.asked.Store(&began)
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

// Ready says whether every upstream answers.
func (f *Fleet) Ready() error {
	if err := f.Settled(); err != nil {
		return err
	}
	if away := f.Catalog().away; len(away) > 0 {
		return failure.New(failure.Unavailable, "%s", away[0])
	}
	return nil
}

// client picks an upstream for a call of a model: in turn, when several serve it.
func (f *Fleet) client(name, version string) (*pool, error) {
	c := f.Catalog()
	pools := c.pools(name, version)
	if len(pools) == 0 {
		_, err := c.Config(name, version)
		return nil, err
	}
	return pools[f.next.Add(1)%uint64(len(pools))], nil
}

// Infer runs a request where its model is served. The peer is the upstream that
// was asked, for traces.
func (f *Fleet) Infer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, peer string, err error) {
	p, err := f.client(req.GetModelName(), req.GetModelVersion())
	if err != nil {
		return nil, "", err
	}
	resp, err = p.client.ModelInfer(ctx, req)
	return resp, p.name, failure.FromStatus(err, p.name)
}

// Ask runs a question about a model at an upstream that claims it.
func Ask[Req, Resp any](ctx context.Context, f *Fleet, name, version string, req Req, ask func(inference.GRPCInferenceServiceClient, context.Context, Req) (Resp, error)) (Resp, error) {
	p, err := f.client(name, version)
	if err != nil {
		var none Resp
		return none, err
	}
	resp, err := ask(p.client, ctx, req)
	return resp, failure.FromStatus(err, p.name)
}

// Each runs a question or an order at every replica of every upstream that the
// filter passes, side by side. The first failure is returned when no replica
// succeeded or, with all, when any failed.
func (f *Fleet) Each(name string, all bool, run func(client inference.GRPCInferenceServiceClient) error) error {
	var mu sync.Mutex
	var failed error
	succeeded := false
	for _, p := range f.claiming(name) {
		p.each(func(client inference.GRPCInferenceServiceClient, address string) {
			err := failure.FromStatus(run(client), address)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failed == nil {
				failed = err
			}
			succeeded = succeeded || err == nil
		})
	}
	if succeeded && !all {
		return nil
	}
	return failed
}

// claiming are the pools that claim a model; all when nobody does, or for no name.
func (f *Fleet) claiming(name string) []*pool {
	if name == "" {
		return f.pools
	}
	if pools := f.Catalog().pools(name, ""); len(pools) > 0 {
		return pools
	}
	return f.pools
}
