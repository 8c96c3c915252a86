package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// unsent is the status of a call that never had a connection.
type unsent struct {
	error
	status *status.Status
}

// GRPCStatus makes it the status that it is about.
func (u *unsent) GRPCStatus() *status.Status { return u.status }

// Unwrap gives gRPC's own error.
func (u *unsent) Unwrap() error { return u.error }

// Unsent tells whether a call of one of our clients failed before anything of it
// was sent, as when the connection is refused: no server can have begun it. A
// failure that was made of the call's error tells the same.
func Unsent(err error) bool {
	var u *unsent
	return errors.As(err, &u)
}

// honest makes gRPC's errors say two things that they don't. A call that was cut
// because this side closed the connection is Unavailable: gRPC says Canceled, as
// if the caller had gone. And a call that had no connection is marked; gRPC knows
// the peer of any other.
func honest(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	var at peer.Peer
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.Peer(&at))...)
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	if s.Code() == codes.Canceled && ctx.Err() == nil {
		s = status.New(codes.Unavailable, s.Message())
		err = s.Err()
	}
	if at.Addr == nil {
		return &unsent{err, s}
	}
	return err
}
