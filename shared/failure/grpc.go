package failure

import (
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// domain marks our own google.rpc.ErrorInfo, whose reason is the Kind's name.
const domain = "triptych"

// maxMessage bounds a message in a status. It travels twice, once escaped, in a
// trailer, and clients made with gRPC's C core refuse trailers above 8 KiB.
const maxMessage = 1 << 10

// ToStatus turns err into a gRPC status error. The Kind travels as the reason of
// a google.rpc.ErrorInfo and the hint as a google.rpc.RetryInfo. A nil error
// stays nil. A status that no failure is wrapped around is kept, without the
// words of what is wrapped around it.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	var foreign interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &own) && errors.As(err, &foreign) {
		return foreign.GRPCStatus().Err()
	}
	kind := KindOf(err)
	s := status.New(kind.GRPCCode(), wireText(Message(err)))
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

// wireText makes a message fit for a status: short, and UTF-8, without which its
// details could not be encoded.
func wireText(message string) string {
	if len(message) > maxMessage {
		message = message[:maxMessage] + "..."
	}
	return strings.ToValidUTF8(message, "\uFFFD")
}

// tooLong is what gRPC says of a message beyond its limit, in front of the sizes.
// It has the code of a server that is busy, but to try again can't help.
const tooLong = "larger than max "

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
	case codes.ResourceExhausted:
		if _, sizes, found := strings.Cut(s.Message(), tooLong); found {
			f.Kind, f.Message = TooLarge, "a message to or from "+peer+" is too large "+sizes
		}
	case codes.Unavailable:
		f.Message = peer + " is not available"
	case codes.Canceled:
		f.Message = "the caller has gone"
	case codes.DeadlineExceeded:
		f.Message = "the deadline of the request has passed while " + peer + " worked on it"
	}
	return f
}
