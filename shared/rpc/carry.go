package rpc

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triptych/shared/call"
	"triptych/shared/capacity"
)

// incoming reads what travels with a request out of the metadata; an id that is
// absent or could forge a line of the log is made anew.
func incoming(ctx context.Context) context.Context {
	var info call.Info
	if ids := metadata.ValueFromIncomingContext(ctx, call.RequestIDHeader); len(ids) > 0 {
		info.RequestID = ids[0]
	}
	if !call.ValidRequestID(info.RequestID) {
		info.RequestID = uuid.NewString()
	}
	if p := metadata.ValueFromIncomingContext(ctx, call.PriorityHeader); len(p) > 0 {
		// A priority that is no number is no priority: it is a hint.
		if priority, err := strconv.ParseUint(p[0], 10, 64); err == nil {
			info.Priority = priority
		}
	}
	return call.With(ctx, info)
}

// outgoing puts what travels with a request into the metadata of a call.
func outgoing(ctx context.Context) context.Context {
	info := call.Of(ctx)
	pairs := make([]string, 0, 6)
	if call.ValidRequestID(info.RequestID) { // gRPC refuses a call with anything else
		pairs = append(pairs, call.RequestIDHeader, info.RequestID)
	}
	if info.Priority > 0 {
		pairs = append(pairs, call.PriorityHeader, strconv.FormatUint(info.Priority, 10))
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	for k, v := range carrier {
		pairs = append(pairs, k, v)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// tellCapacity puts what was told of a model, if anything was, into the trailer of
// the call's answer, a failure too.
func tellCapacity(told *capacity.Told) {
	if r, ok := told.Report(); ok {
		// It fails when the caller has gone, who needs it no more.
		_ = grpc.SetTrailer(told, metadata.MD{capacity.Trailer: {r.String()}})
	}
}

// Capacity is what the trailer of an answer tells of the model that was called.
// False when it says nothing, as that of a server which is not ours.
func Capacity(trailer metadata.MD) (r capacity.Report, told bool) {
	values := trailer[capacity.Trailer]
	if len(values) == 0 {
		return capacity.Report{}, false
	}
	return capacity.Parse(values[0])
}

func unaryClient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(outgoing(ctx), method, req, reply, cc, opts...)
}

func streamClient(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(outgoing(ctx), desc, cc, method, opts...)
}
