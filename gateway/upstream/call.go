package upstream

import (
	"context"
	"math/rand/v2"
	"sync"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// candidates are the pools that serve a model, the one to try first in front:
// that with the fewest calls running, any of them when there are several. (Taking
// turns would not do: the steps of an ensemble keep step with the turns.)
func (f *Fleet) candidates(name, version string) ([]*pool, error) {
	c := f.Catalog()
	pools := c.pools(name, version)
	if len(pools) == 0 {
		_, err := c.Config(name, version)
		return nil, err
	}
	if len(pools) == 1 {
		return pools, nil
	}
	first := rand.IntN(len(pools))
	order := make([]*pool, 0, len(pools))
	order = append(append(order, pools[first:]...), pools[:first]...)
	least := 0
	for i, p := range order {
		if p.calls.Load() < order[least].calls.Load() {
			least = i
		}
	}
	order[0], order[least] = order[least], order[0]
	return order, nil
}

// try makes a call at the first upstream that is available: neither running a
// model nor a question changes anything, so another may be asked after it. The
// peer is the one that was asked last.
func (f *Fleet) try(ctx context.Context, name, version string, call func(*pool) error) (peer string, err error) {
	pools, err := f.candidates(name, version)
	if err != nil {
		return "", err
	}
	for _, p := range pools {
		peer, err = p.name, failure.FromStatus(call(p), p.name)
		if failure.KindOf(err) != failure.Unavailable || ctx.Err() != nil {
			break
		}
	}
	return peer, err
}

// Infer runs a request where its model is served. The peer is the upstream that
// was asked, for traces.
func (f *Fleet) Infer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, peer string, err error) {
	peer, err = f.try(ctx, req.GetModelName(), req.GetModelVersion(), func(p *pool) (err error) {
		p.calls.Add(1)
		defer p.calls.Add(-1)
		resp, err = p.client.ModelInfer(ctx, req)
		return err
	})
	return resp, peer, err
}

// Ask runs a question about a model at an upstream that claims it.
func Ask[Req, Resp any](ctx context.Context, f *Fleet, name, version string, req Req, ask func(inference.GRPCInferenceServiceClient, context.Context, Req) (Resp, error)) (resp Resp, err error) {
	_, err = f.try(ctx, name, version, func(p *pool) (err error) {
		resp, err = ask(p.client, ctx, req)
		return err
	})
	return resp, err
}

// Each runs a question or an order at every replica of every upstream that claims
// a model, side by side; at all upstreams when none claims it, or for no name. A
// failure is returned when no replica succeeded or, with all, when any failed: that
// which tells most.
func (f *Fleet) Each(name string, all bool, run func(client inference.GRPCInferenceServiceClient) error) error {
	var outcome outcome
	var running sync.WaitGroup
	for _, p := range f.claiming(name) {
		members := p.members()
		if len(members) == 0 {
			outcome.add(failure.New(failure.Unavailable, "%s is not available", p.name))
		}
		for _, r := range members {
			running.Go(func() { outcome.add(failure.FromStatus(run(r.client), p.name)) })
		}
	}
	running.Wait()
	switch {
	case outcome.succeeded && !all:
		return nil
	case !outcome.succeeded && outcome.failed == nil && name != "":
		return failure.New(failure.Unavailable, "there is no upstream to ask about model %q", modelserver.Shorten(name))
	}
	return outcome.failed
}

// claiming are the pools that claim a model; all when nobody does, or for no name.
func (f *Fleet) claiming(name string) []*pool {
	if pools := f.Catalog().claiming(name); len(pools) > 0 {
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
