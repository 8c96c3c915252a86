package failure_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"triptych/shared/failure"
)

// hop is one real gRPC hop: what a server's handler returned, as the client's
// side sees it.
func hop(t *testing.T, handler func(ctx context.Context) error) *grpc.ClientConn {
	t.Helper()
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return handler(stream.Context())
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func callOver(ctx context.Context, conn *grpc.ClientConn) error {
	return conn.Invoke(ctx, "/test.Service/Method", &emptypb.Empty{}, &emptypb.Empty{})
}

func TestKindsCrossTheWire(t *testing.T) {
	var sent error
	conn := hop(t, func(context.Context) error { return failure.ToStatus(sent) })
	for _, want := range table {
		t.Run(want.name, func(t *testing.T) {
			sent = &failure.Error{Kind: want.kind, Message: "what went wrong: ü", Cause: errors.New("secret"), RetryAfter: 1500 * time.Millisecond}
			err := callOver(t.Context(), conn)
			if got := status.Code(err); got != want.code {
				t.Errorf("code is %s, want %s", got, want.code)
			}
			got := failure.FromStatus(err, "peer")
			if failure.KindOf(got) != want.kind || failure.Message(got) != "what went wrong: ü" || strings.Contains(got.Error(), "secret") {
				t.Errorf("got %v of kind %s", got, failure.KindOf(got))
			}
			after := time.Duration(0)
			if want.retry || want.kind == failure.Deadline { // who computed a hint for a deadline has it sent
				after = 1500 * time.Millisecond
			}
			if failure.RetryAfter(got) != after {
				t.Errorf("RetryAfter is %s, want %s", failure.RetryAfter(got), after)
			}
		})
	}
}

func TestWhatIsSent(t *testing.T) {
	foreign := status.Error(codes.Unimplemented, "method X not implemented")
	tests := map[string]struct {
		err     error
		code    codes.Code
		message string
		kind    failure.Kind
	}{
		"no Kind":                       {errors.New("secret"), codes.Internal, "internal error", failure.Internal},
		"cancelled":                     {context.Canceled, codes.Canceled, "the caller has gone", failure.Cancelled},
		"deadline":                      {context.DeadlineExceeded, codes.DeadlineExceeded, "the deadline of the request has passed", failure.Deadline},
		"status is kept":                {foreign, codes.Unimplemented, "method X not implemented", failure.Unsupported},
		"words around a status are not": {fmt.Errorf("secret: %w", foreign), codes.Unimplemented, "method X not implemented", failure.Unsupported},
		"a failure goes before the status it wraps": {
			failure.Wrap(foreign, failure.Internal, "the model broke"), codes.Internal, "the model broke", failure.Internal,
		},
		"not UTF-8": {failure.New(failure.NotFound, "no file \xff.jpg"), codes.NotFound, "no file \uFFFD.jpg", failure.NotFound},
		"very long": {failure.New(failure.TooLarge, "%s", strings.Repeat("x", 1<<20)), codes.InvalidArgument, strings.Repeat("x", 1024) + "...", failure.TooLarge},
	}
	var sent error
	conn := hop(t, func(context.Context) error { return failure.ToStatus(sent) })
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sent = tt.err
			err := callOver(t.Context(), conn)
			if s := status.Convert(err); s.Code() != tt.code || s.Message() != tt.message {
				t.Errorf("sent %s %q, want %s %q", s.Code(), s.Message(), tt.code, tt.message)
			}
			if got := failure.KindOf(failure.FromStatus(err, "peer")); got != tt.kind {
				t.Errorf("kind is %s, want %s", got, tt.kind)
			}
		})
	}
	if failure.ToStatus(nil) != nil || failure.FromStatus(nil, "peer") != nil {
		t.Error("nil did not stay nil")
	}
}

// Servers that are not ours send codes without a Kind.
func TestForeignCodes(t *testing.T) {
	tests := map[codes.Code]failure.Kind{
		codes.Unknown: failure.Internal, codes.Internal: failure.Internal, codes.DataLoss: failure.Internal,
		codes.InvalidArgument: failure.Invalid, codes.OutOfRange: failure.Invalid,
		codes.Unauthenticated: failure.Unauthenticated, codes.PermissionDenied: failure.Forbidden,
		codes.NotFound: failure.NotFound, codes.FailedPrecondition: failure.Conflict,
		codes.AlreadyExists: failure.Conflict, codes.Aborted: failure.Conflict,
		codes.ResourceExhausted: failure.Busy, codes.Canceled: failure.Cancelled,
		codes.Unavailable: failure.Unavailable, codes.DeadlineExceeded: failure.Deadline,
		codes.Unimplemented: failure.Unsupported,
	}
	var sent error
	conn := hop(t, func(context.Context) error { return sent })
	for code, want := range tests {
		t.Run(code.String(), func(t *testing.T) {
			sent = status.Error(code, "words")
			err := failure.FromStatus(callOver(t.Context(), conn), "peer")
			if got := failure.KindOf(err); got != want {
				t.Errorf("kind is %s, want %s", got, want)
			}
			if status.Code(errors.Unwrap(err)) != code {
				t.Errorf("the status is not the cause of %v", err)
			}
		})
	}
}

func TestForeignDetails(t *testing.T) {
	s, err := status.New(codes.Unavailable, "overloaded").WithDetails(
		&errdetails.ErrorInfo{Reason: "INVALID", Domain: "elsewhere"},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	conn := hop(t, func(context.Context) error { return s.Err() })
	got := failure.FromStatus(callOver(t.Context(), conn), "pool")
	if failure.KindOf(got) != failure.Unavailable || failure.RetryAfter(got) != 7*time.Second || failure.Message(got) != "pool is not available" {
		t.Errorf("got %v of kind %s after %s", got, failure.KindOf(got), failure.RetryAfter(got))
	}
}

func TestTransportFailures(t *testing.T) {
	blocked := hop(t, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	gone := hop(t, func(context.Context) error { return nil })
	gone.Close()
	refused, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expires, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	tests := map[string]struct {
		ctx     context.Context
		conn    *grpc.ClientConn
		kind    failure.Kind
		message string
	}{
		"refused":   {t.Context(), refused, failure.Unavailable, "predictor:8001 is not available"},
		"cancelled": {cancelled, blocked, failure.Cancelled, "the caller has gone"},
		"expired":   {expires, blocked, failure.Deadline, "the deadline of the request has passed while predictor:8001 worked on it"},
		"closed":    {t.Context(), gone, failure.Cancelled, "the caller has gone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := failure.FromStatus(callOver(tt.ctx, tt.conn), "predictor:8001")
			if failure.KindOf(err) != tt.kind || failure.Message(err) != tt.message {
				t.Errorf("got %q of kind %s", failure.Message(err), failure.KindOf(err))
			}
			if errors.Unwrap(err) == nil {
				t.Error("gRPC's own words are not the cause")
			}
		})
	}
}

// gRPC gives a message that is too large the code of a server that is busy; the
// caller must not try again.
func TestTooLargeMessage(t *testing.T) {
	conn := hop(t, func(context.Context) error { return nil })
	big := status.New(codes.OK, strings.Repeat("x", 100)).Proto()
	err := failure.FromStatus(conn.Invoke(t.Context(), "/test.Service/Method", big, &emptypb.Empty{}), "peer")
	if failure.KindOf(err) != failure.TooLarge || failure.Message(err) != "a message to or from peer is too large (102 vs. 64)" {
		t.Errorf("got %q of kind %s", failure.Message(err), failure.KindOf(err))
	}
}

func TestFromStatusKeepsFailures(t *testing.T) {
	own := failure.Wrap(status.Error(codes.NotFound, "x"), failure.Busy, "full")
	if got := failure.FromStatus(fmt.Errorf("act: %w", own), "peer"); failure.KindOf(got) != failure.Busy || got.Error() != "act: full: rpc error: code = NotFound desc = x" {
		t.Errorf("got %v", got)
	}
	plain := errors.New("plain")
	if got := failure.FromStatus(plain, "peer"); !errors.Is(got, plain) || failure.KindOf(got) != failure.Internal {
		t.Errorf("got %v, want what was given", got)
	}
}
