package target

import (
	"errors"
	"net"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"

	"triptych/loadtest/measure"
	"triptych/shared/failure"
)

// permanent are the Kinds of refusals that are about all requests of a test. Those
// about an image are not among them: the next image may be better.
var permanent = []failure.Kind{
	failure.Invalid, failure.Unauthenticated, failure.Forbidden, failure.NotFound, failure.Unsupported, failure.WrongMethod,
}

func permanentStatus(status int) bool {
	return slices.ContainsFunc(permanent, func(k failure.Kind) bool { return k.HTTPStatus() == status })
}

// permanentCall knows what failed by the server's own word, or else by the code.
func permanentCall(err error) bool {
	return slices.Contains(permanent, failure.KindOf(failure.FromStatus(err, "the server")))
}

// connectionFault is a request by HTTP without a whole answer.
func connectionFault(err error) *measure.Fault {
	var op *net.OpError
	return &measure.Fault{Kind: measure.Connection, Message: err.Error(), Unreached: errors.As(err, &op) && op.Op == "dial"}
}

// unreachedCall tells that a call found no connection. A server that says itself
// that it is unavailable has one.
func unreachedCall(code codes.Code, state connectivity.State) bool {
	lost := state == connectivity.TransientFailure || state == connectivity.Connecting
	return lost && (code == codes.Unavailable || code == codes.DeadlineExceeded)
}
