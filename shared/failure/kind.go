// Package failure gives every error a Kind and decides, in one table, what a
// Kind means to callers: its gRPC code and its HTTP status. Nothing else in the
// project chooses a status. It knows nothing of what failed.
package failure

import (
	"net/http"

	"google.golang.org/grpc/codes"
)

// Kind says whose fault a failure is and what a caller can do about it.
// Kinds cross the wire by name: append to them, never rename or reorder.
type Kind uint8

const (
	// Internal is our own fault, or the model's. It is the zero Kind: an error
	// that nobody has classified is ours.
	Internal Kind = iota
	// Invalid is a wrong shape, type, name, byte count or document.
	Invalid
	// Unauthenticated means that the caller did not say who it is.
	Unauthenticated
	// Forbidden means that the caller may not do this.
	Forbidden
	// NotFound is a model, version, job or route that does not exist.
	NotFound
	// Conflict is a clash with what is already there.
	Conflict
	// TooLarge is more bytes, pixels, sides or items than is allowed.
	TooLarge
	// UnsupportedMedia is not an image, or a kind of image that is not read.
	UnsupportedMedia
	// BrokenImage is an image that is truncated or corrupt.
	BrokenImage
	// Busy means that a bounded queue is full or that work was not admitted.
	Busy
	// Cancelled means that the caller has gone.
	Cancelled
	// Unavailable is a model that is not ready or a service that is down.
	Unavailable
	// Deadline means that the time for the answer has passed.
	Deadline
	// Unsupported is a feature that this server does not have.
	Unsupported
	// WrongMethod is an HTTP method that a route does not have.
	WrongMethod
	// SlowRequest means that the caller sent its request too slowly.
	SlowRequest
)

// meaning is one row of the table in the design (section 4).
type meaning struct {
	name  string
	http  int
	code  codes.Code
	retry bool // the caller may try again: answers carry a retry hint
}

// StatusClientClosedRequest is what the log says of a caller that went away.
// It is nginx's number; no RFC has one.
const StatusClientClosedRequest = 499

var table = [...]meaning{
	Internal:         {"INTERNAL", http.StatusInternalServerError, codes.Internal, false},
	Invalid:          {"INVALID", http.StatusBadRequest, codes.InvalidArgument, false},
	Unauthenticated:  {"UNAUTHENTICATED", http.StatusUnauthorized, codes.Unauthenticated, false},
	Forbidden:        {"FORBIDDEN", http.StatusForbidden, codes.PermissionDenied, false},
	NotFound:         {"NOT_FOUND", http.StatusNotFound, codes.NotFound, false},
	Conflict:         {"CONFLICT", http.StatusConflict, codes.FailedPrecondition, false},
	TooLarge:         {"TOO_LARGE", http.StatusRequestEntityTooLarge, codes.InvalidArgument, false},
	UnsupportedMedia: {"UNSUPPORTED_MEDIA", http.StatusUnsupportedMediaType, codes.InvalidArgument, false},
	BrokenImage:      {"BROKEN_IMAGE", http.StatusUnprocessableEntity, codes.InvalidArgument, false},
	Busy:             {"BUSY", http.StatusTooManyRequests, codes.ResourceExhausted, true},
	Cancelled:        {"CANCELLED", StatusClientClosedRequest, codes.Canceled, false},
	Unavailable:      {"UNAVAILABLE", http.StatusServiceUnavailable, codes.Unavailable, true},
	Deadline:         {"DEADLINE", http.StatusGatewayTimeout, codes.DeadlineExceeded, false},
	Unsupported:      {"UNSUPPORTED", http.StatusNotImplemented, codes.Unimplemented, false},
	WrongMethod:      {"WRONG_METHOD", http.StatusMethodNotAllowed, codes.Unimplemented, false},
	SlowRequest:      {"SLOW_REQUEST", http.StatusRequestTimeout, codes.DeadlineExceeded, false},
}

func (k Kind) meaning() meaning {
	if int(k) < len(table) {
		return table[k]
	}
	return table[Internal]
}

// String is the name that callers see as "code" and that crosses the wire.
func (k Kind) String() string { return k.meaning().name }

// HTTPStatus is the status of an answer that failed with k.
func (k Kind) HTTPStatus() int { return k.meaning().http }

// GRPCCode is the gRPC code of an answer that failed with k.
func (k Kind) GRPCCode() codes.Code { return k.meaning().code }

// Retryable tells whether answers of this Kind carry a hint when to try again.
func (k Kind) Retryable() bool { return k.meaning().retry }

// kindNamed finds a Kind by its name.
func kindNamed(name string) (Kind, bool) {
	for k, m := range &table {
		if m.name == name {
			return Kind(k), true
		}
	}
	return Internal, false
}

// kindOfCode is the Kind of a code that came without a name, from a server
// that is not ours.
func kindOfCode(c codes.Code) Kind {
	switch c {
	case codes.InvalidArgument, codes.OutOfRange:
		return Invalid
	case codes.Unauthenticated:
		return Unauthenticated
	case codes.PermissionDenied:
		return Forbidden
	case codes.NotFound:
		return NotFound
	case codes.FailedPrecondition, codes.AlreadyExists, codes.Aborted:
		return Conflict
	case codes.ResourceExhausted:
		return Busy
	case codes.Canceled:
		return Cancelled
	case codes.Unavailable:
		return Unavailable
	case codes.DeadlineExceeded:
		return Deadline
	case codes.Unimplemented:
		return Unsupported
	default:
		return Internal
	}
}
