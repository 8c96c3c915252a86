package rpc

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"triptych/shared/failure"
)

// guard is what stands around every call on the server's side: what travels with
// the request is read, panics are caught, failures logged and turned into
// statuses.
type guard struct {
	logger  *slog.Logger
	timeout time.Duration // of a request, whatever its caller allows

	once   sync.Once
	ending chan struct{} // closed when streams must end
}

func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	ctx, cancel := g.bound(incoming(ctx), info.FullMethod)
	defer cancel()
	told := listen(ctx)
	ctx = told
	defer tellCapacity(told)
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
	return g.around(ctx, info.FullMethod, func() error { return next(srv, &endingStream{stream, ctx, g.ending}) })
}

// bound ends a request after the timeout, for callers that set no deadline would
// otherwise wait for ever. A load or an unload takes as long as it takes.
func (g *guard) bound(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	if g.timeout <= 0 || strings.Contains(method, "/RepositoryModel") {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, g.timeout)
}

// endStreams makes every stream seem to have got its last request.
func (g *guard) endStreams() { g.once.Do(func() { close(g.ending) }) }

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

// endingStream is a stream with our own context that ends when the server does:
// a client that holds one open and sends nothing must not keep the server from
// stopping.
type endingStream struct {
	grpc.ServerStream
	ctx    context.Context
	ending <-chan struct{}
}

// Context implements grpc.ServerStream.
func (s *endingStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. The receiving that it leaves behind ends
// with the stream, which is as soon as the handler returns.
func (s *endingStream) RecvMsg(m any) error {
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(m) }()
	select {
	case err := <-received:
		return err
	case <-s.ending:
		return io.EOF
	}
}
