package rpc

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"triptych/shared/call"
	"triptych/shared/failure"
)

type statsHandler = stats.Handler

// unaryServer is what stands around every call on the server's side: the
// request's id and priority, failures turned into statuses, panics caught.
type unaryServer struct {
	logger *slog.Logger
}

func (u *unaryServer) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	ctx = incoming(ctx)
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, failure.ToStatus(failure.New(failure.Internal, "internal error"))
			u.logger.ErrorContext(ctx, "a call panicked", "method", info.FullMethod, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	resp, err = next(ctx, req)
	if err != nil {
		u.log(ctx, info.FullMethod, err)
		return nil, failure.ToStatus(err)
	}
	return resp, nil
}

// log writes what went wrong for reasons of our own as an error; the caller's
// own faults are seen in metrics and, when wanted, at the level debug.
func (u *unaryServer) log(ctx context.Context, method string, err error) {
	level := slog.LevelDebug
	if failure.KindOf(err) == failure.Internal {
		level = slog.LevelError
	}
	u.logger.Log(ctx, level, "call failed", "method", method, "kind", failure.KindOf(err).String(), "error", err)
}

func (u *unaryServer) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	ctx := incoming(stream.Context())
	defer func() {
		if p := recover(); p != nil {
			err = failure.ToStatus(failure.New(failure.Internal, "internal error"))
			u.logger.ErrorContext(ctx, "a stream panicked", "method", info.FullMethod, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	return failure.ToStatus(next(srv, &streamWithContext{stream, ctx}))
}

type streamWithContext struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *streamWithContext) Context() context.Context { return s.ctx }

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
		info.Priority, _ = strconv.ParseUint(p[0], 10, 64)
	}
	return call.With(ctx, info)
}

// outgoing puts what travels with a request into the metadata of a call.
func outgoing(ctx context.Context) context.Context {
	info := call.Of(ctx)
	pairs := make([]string, 0, 6)
	if info.RequestID != "" {
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

func unaryClient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(outgoing(ctx), method, req, reply, cc, opts...)
}
