package rpc

import (
	"context"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"

	"triptych/shared/failure"
)

// guard is what stands around every call on the server's side: what travels with
// the request is read, panics are caught, failures logged and turned into
// statuses.
type guard struct {
	logger *slog.Logger
}

func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	ctx = incoming(ctx)
	err = g.around(ctx, info.FullMethod, func() (err error) {
		resp, err = next(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (g *guard) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx := incoming(stream.Context())
	return g.around(ctx, info.FullMethod, func() error { return next(srv, &streamWithContext{stream, ctx}) })
}

func (g *guard) around(ctx context.Context, method string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure.ToStatus(failure.New(failure.Internal, "internal error"))
			g.logger.ErrorContext(ctx, "a call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	err = run()
	g.log(ctx, method, err)
	return failure.ToStatus(err)
}

// log writes what went wrong for reasons of our own as an error; the caller's
// own faults are seen in metrics and, when wanted, at the level debug.
func (g *guard) log(ctx context.Context, method string, err error) {
	if err == nil {
		return
	}
	// A bare status, such as that of a method we do not have, has no Kind yet.
	kind := failure.KindOf(failure.FromStatus(err, "the service"))
	level := slog.LevelDebug
	if kind == failure.Internal {
		level = slog.LevelError
	}
	g.logger.Log(ctx, level, "call failed", "method", method, "kind", kind.String(), "error", err)
}

type streamWithContext struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *streamWithContext) Context() context.Context { return s.ctx }
