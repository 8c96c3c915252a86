package failure

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// domain marks our own google.rpc.ErrorInfo, whose reason is the Kind's name.
const domain = "triptych"

// ToStatus turns err into a gRPC status error. The Kind travels as the reason of
// a google.rpc.ErrorInfo and the hint as a google.rpc.RetryInfo. A nil error
// stays nil; an error that already is a status is kept.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	kind := KindOf(err)
	if _, ok := status.FromError(err); ok && kind == Internal {
		return err
	}
	s := status.New(kind.GRPCCode(), Message(err))
	if detailed, derr := s.WithDetails(&errdetails.ErrorInfo{Reason: kind.String(), Domain: domain}); derr == nil {
		s = detailed
	}
	if after := RetryAfter(err); after > 0 {
		if detailed, derr := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); derr == nil {
			s = detailed
		}
	}
	return s.Err()
}

// FromStatus turns the error of a gRPC call into a failure. An error from one
// of our own servers keeps its Kind and its message; what gRPC itself says of a
// connection becomes peer is "unavailable", with gRPC's words as the cause.
func FromStatus(err error, peer string) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err // it may wrap a status, but what it says itself goes first
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	f := &Error{Kind: kindOfCode(s.Code()), Message: s.Message(), Cause: err}
	named := false
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if kind, known := kindNamed(d.GetReason()); known && d.GetDomain() == domain {
				f.Kind, named = kind, true
			}
		case *errdetails.RetryInfo:
			f.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	if named {
		f.Cause = nil
		return f
	}
	switch s.Code() {
	case codes.Unavailable:
		f.Message = peer + " is not available"
	case codes.Canceled:
		f.Message = "the caller has gone"
	case codes.DeadlineExceeded:
		f.Message = "the deadline of the request has passed while " + peer + " worked on it"
	}
	return f
}
