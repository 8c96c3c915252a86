package upstream

import (
	"context"
	"sync"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Each gives an order to every replica of every upstream that claims a model, side
// by side; to all upstreams when none claims it, or for no name. A failure is
// returned when no replica succeeded or, with all, when any failed: that which
// tells most. An order, such as to load a model, may take as long as its caller
// allows.
func (f *Fleet) Each(name string, all bool, run func(client inference.GRPCInferenceServiceClient) error) error {
	return f.EachOf(name, "", all, run)
}

// EachOf is Each for a model of a backend: while nobody claims the model, only the
// upstreams that are known to run the backend are told, if any are.
func (f *Fleet) EachOf(name, backend string, all bool, run func(client inference.GRPCInferenceServiceClient) error) error {
	return each(f.claiming(name, backend), name, all, func(r *replica) error {
		defer r.stale.Store(true) // a load may have changed a configuration
		return r.run(run)
	})
}

// AskEach puts a question to the same replicas as Each. A replica has a short time
// of its own for the answer: one that hangs does not keep those of the others
// back. A failure is returned when no replica answered.
func (f *Fleet) AskEach(ctx context.Context, name string, ask func(ctx context.Context, client inference.GRPCInferenceServiceClient) error) error {
	return each(f.claiming(name, ""), name, false, func(r *replica) error {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		err := r.run(func(c inference.GRPCInferenceServiceClient) error { return ask(asking, c) })
		if failure.KindOf(err) == failure.Deadline && ctx.Err() == nil {
			return failure.Wrap(err, failure.Unavailable, "%s does not answer", r.pool.name)
		}
		return err
	})
}

func each(pools []*pool, name string, all bool, run func(r *replica) error) error {
	var outcome outcome
	var running sync.WaitGroup
	for _, p := range pools {
		members := p.members()
		if len(members) == 0 {
			outcome.add(failure.New(failure.Unavailable, "%s is not available", p.name))
		}
		for _, r := range members {
			running.Go(func() { outcome.add(run(r)) })
		}
	}
	running.Wait()
	switch {
	case outcome.succeeded && !all:
		return nil
	case !outcome.succeeded && outcome.failed == nil && name != "":
		return failure.New(failure.Unavailable, "there is no upstream to ask about model %s", failure.Quote(name))
	}
	return outcome.failed
}

// claiming are the pools that claim a model, or, when nobody does, those that run
// its backend; all when nobody is known, or for no name.
func (f *Fleet) claiming(name, backend string) []*pool {
	c := f.Catalog()
	if pools := c.claiming(name); len(pools) > 0 {
		return pools
	}
	if pools := c.running(backend); backend != "" && len(pools) > 0 {
		return pools
	}
	return f.pools
}

// outcome joins what many replicas answered.
type outcome struct {
	mu        sync.Mutex
	succeeded bool
	failed    error
}

// add prefers, among failures, those of somebody who knows the model.
func (o *outcome) add(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.succeeded = true
	case o.failed == nil, failure.KindOf(o.failed) == failure.NotFound:
		o.failed = err
	}
}
