package upstream

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triptych/gateway/queued"
	"triptych/gateway/upstream/standing"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// ask is a call of the protocol.
type ask[R any] func(ctx context.Context, client inference.GRPCInferenceServiceClient, opts ...grpc.CallOption) (R, error)

// try makes a call at a replica, and once more at another when the first surely did
// not begin it: when nothing was sent, as with a connection that is refused, or when
// the replica itself said that it is not ready, or that it does not have what it had
// a moment ago. A call that was cut while a replica may have run it is never made
// again: whatever it did to the replica it would do to the next. (What a server says
// that it has not looked at, gRPC sends again by itself.)
func try[R any](ctx context.Context, f *Fleet, name, version string, question bool, ask ask[R]) (R, string, error) {
	c := f.Catalog()
	t := c.find(name, version)
	t.pure = t.pure || question
	first, onTrial := f.pick(t, nil)
	if first == nil {
		var none R
		_, err := c.Config(name, version)
		return none, "", err
	}
	first.pool.budget.Call()
	got := launch(ctx, f, first, t, onTrial, ask)
	if got.err != nil && ctx.Err() == nil && refused(got.err, t.ready) {
		if second, onTrial := f.second(got.err, first, t); second != nil {
			trace.SpanFromContext(ctx).AddEvent("retry", trace.WithAttributes(
				attribute.String("triptych.reason", failure.Message(got.err)), attribute.String("server.address", second.address)))
			got = launch(ctx, f, second, t, onTrial, ask)
		}
	}
	queued.Add(ctx, got.queue)
	return got.answer, got.peer, got.err
}

// second is where a call is made that the first replica refused. When nothing was
// sent, nobody has more to do than without a failure: that costs nothing of the
// budget.
func (f *Fleet) second(err error, first *replica, t target) (r *replica, onTrial bool) {
	if r, onTrial = f.pick(t, first); r == nil {
		return nil, false
	}
	if rpc.Unsent(err) {
		first.pool.retries.Add(1)
		return r, onTrial
	}
	if !first.pool.again(&first.pool.retries) {
		if onTrial {
			f.spare(r)
		}
		return nil, false
	}
	return r, onTrial
}

// spare gives the leave back to make a call on trial.
func (f *Fleet) spare(r *replica) { r.standing.End(time.Now(), standing.None, true) }

// refused tells whether a call was surely not begun. A replica's own words have no
// cause. That it does not know the model counts for one that was said to have it
// ready.
func refused(err error, ready bool) bool {
	if rpc.Unsent(err) {
		return failure.KindOf(err) == failure.Unavailable
	}
	var f *failure.Error
	if !errors.As(err, &f) || f.Cause != nil {
		return false
	}
	return f.Kind == failure.Unavailable || (ready && f.Kind == failure.NotFound)
}

// launch makes a call at a replica, which may get another beside it when there is more
// than one.
func launch[R any](ctx context.Context, f *Fleet, r *replica, t target, onTrial bool, ask ask[R]) result[R] {
	if len(t.replicas) == 1 || !t.pure {
		return call(ctx, f, r, t, onTrial, ask)
	}
	flight := &flight[R]{fleet: f, target: t, ask: ask, ctx: ctx, first: r}
	return flight.fly(onTrial)
}

// call makes a call at a replica, and learns from how it ends.
func call[R any](ctx context.Context, f *Fleet, r *replica, t target, onTrial bool, ask ask[R]) result[R] {
	var trailer metadata.MD
	begun := f.since()
	r.picks.Add(1)
	r.calls.Add(1)
	answer, err := ask(ctx, r.client, grpc.Trailer(&trailer))
	others := r.calls.Add(-1)
	err = failure.FromStatus(err, r.pool.name)
	now := f.since()
	if said, ok := rpc.Capacity(trailer); ok {
		r.wordFor(t.key).hear(said, others, now)
	}
	got := result[R]{answer: answer, peer: r.pool.name, err: err}
	if w := r.word(t.key); w != nil {
		got.queue = w.queue(now)
	}
	if err == nil && len(t.replicas) > 1 {
		r.wordFor(t.key).latency.Add(time.Now(), now-begun)
	}
	f.judge(ctx, r, t, onTrial, err, now)
	return got
}

// run makes a call at this replica, and counts it while it runs.
func (r *replica) run(call func(client inference.GRPCInferenceServiceClient) error) error {
	r.calls.Add(1)
	defer r.calls.Add(-1)
	return failure.FromStatus(call(r.client), r.pool.name)
}

// Infer runs a request at a replica that has its model ready, of whichever
// upstream. The peer is the upstream that was asked, for traces.
func (f *Fleet) Infer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, peer string, err error) {
	return try(ctx, f, req.GetModelName(), req.GetModelVersion(), false, func(ctx context.Context, c inference.GRPCInferenceServiceClient, opts ...grpc.CallOption) (*inference.ModelInferResponse, error) {
		return c.ModelInfer(ctx, req, opts...)
	})
}

// Ask runs a question about a model at a replica that claims it.
func Ask[Req, Resp any](ctx context.Context, f *Fleet, name, version string, req Req, question func(inference.GRPCInferenceServiceClient, context.Context, Req) (Resp, error)) (resp Resp, err error) {
	resp, _, err = try(ctx, f, name, version, true, func(ctx context.Context, c inference.GRPCInferenceServiceClient, _ ...grpc.CallOption) (Resp, error) {
		return question(c, ctx, req)
	})
	return resp, err
}
