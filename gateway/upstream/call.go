package upstream

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/rpc"
)

// try makes a call at a replica, and once more at another when the first surely
// did not begin it: when nothing was sent, as with a connection that is refused,
// or when the replica itself said that it is not ready, or that it does not have
// what it had a moment ago. A call that was cut while a replica may have run it is
// never made again, whatever it did to the replica it would do to the next. (What a
// server says that it has not looked at, gRPC sends again by itself.) The peer is
// the upstream that was asked last.
func (f *Fleet) try(ctx context.Context, name, version string, call func(client inference.GRPCInferenceServiceClient, opts ...grpc.CallOption) error) (peer string, err error) {
	c := f.Catalog()
	t := c.find(name, version)
	if len(t.replicas) == 0 {
		_, err := c.Config(name, version)
		return "", err
	}
	first := pick(t.replicas, nil)
	peer, err = first.pool.name, f.callAt(first, t.key, call)
	if err == nil || ctx.Err() != nil || !refused(err, t.ready) {
		return peer, err
	}
	if second := pick(t.replicas, first); second != nil {
		peer, err = second.pool.name, f.callAt(second, t.key, call)
	}
	return peer, err
}

// callAt makes a call about a model at a replica, and hears what the answer says of
// what the replica can take.
func (f *Fleet) callAt(r *replica, k key, call func(client inference.GRPCInferenceServiceClient, opts ...grpc.CallOption) error) error {
	var trailer metadata.MD
	err := r.run(func(client inference.GRPCInferenceServiceClient) error { return call(client, grpc.Trailer(&trailer)) })
	if said, ok := rpc.Capacity(trailer); ok {
		r.hear(k, said, f.since())
	}
	return err
}

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

// run makes a call at this replica, and counts it while it runs.
func (r *replica) run(call func(client inference.GRPCInferenceServiceClient) error) error {
	r.calls.Add(1)
	defer r.calls.Add(-1)
	return failure.FromStatus(call(r.client), r.pool.name)
}

// Infer runs a request at a replica that has its model ready, of whichever
// upstream. The peer is the upstream that was asked, for traces.
func (f *Fleet) Infer(ctx context.Context, req *inference.ModelInferRequest) (resp *inference.ModelInferResponse, peer string, err error) {
	peer, err = f.try(ctx, req.GetModelName(), req.GetModelVersion(), func(c inference.GRPCInferenceServiceClient, opts ...grpc.CallOption) (err error) {
		resp, err = c.ModelInfer(ctx, req, opts...)
		return err
	})
	return resp, peer, err
}

// Ask runs a question about a model at a replica that claims it.
func Ask[Req, Resp any](ctx context.Context, f *Fleet, name, version string, req Req, ask func(inference.GRPCInferenceServiceClient, context.Context, Req) (Resp, error)) (resp Resp, err error) {
	_, err = f.try(ctx, name, version, func(c inference.GRPCInferenceServiceClient, _ ...grpc.CallOption) (err error) {
		resp, err = ask(c, ctx, req)
		return err
	})
	return resp, err
}
