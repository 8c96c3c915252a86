package failure_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"triptych/shared/failure"
)

// row is one line of the table in the design, section 4.
type row struct {
	kind  failure.Kind
	name  string
	http  int
	code  codes.Code
	retry bool
}

// table is every Kind, written out once more: a change here is a change for
// every client.
var table = []row{
	{failure.Internal, "INTERNAL", 500, codes.Internal, false},
	{failure.Invalid, "INVALID", 400, codes.InvalidArgument, false},
	{failure.Unauthenticated, "UNAUTHENTICATED", 401, codes.Unauthenticated, false},
	{failure.Forbidden, "FORBIDDEN", 403, codes.PermissionDenied, false},
	{failure.NotFound, "NOT_FOUND", 404, codes.NotFound, false},
	{failure.Conflict, "CONFLICT", 409, codes.FailedPrecondition, false},
	{failure.TooLarge, "TOO_LARGE", 413, codes.InvalidArgument, false},
	{failure.UnsupportedMedia, "UNSUPPORTED_MEDIA", 415, codes.InvalidArgument, false},
	{failure.BrokenImage, "BROKEN_IMAGE", 422, codes.InvalidArgument, false},
	{failure.Busy, "BUSY", 429, codes.ResourceExhausted, true},
	{failure.Cancelled, "CANCELLED", 499, codes.Canceled, false},
	{failure.Unavailable, "UNAVAILABLE", 503, codes.Unavailable, true},
	{failure.Deadline, "DEADLINE", 504, codes.DeadlineExceeded, false},
	{failure.Unsupported, "UNSUPPORTED", 501, codes.Unimplemented, false},
	{failure.WrongMethod, "WRONG_METHOD", 405, codes.Unimplemented, false},
	{failure.SlowRequest, "SLOW_REQUEST", 408, codes.DeadlineExceeded, false},
}

func TestTable(t *testing.T) {
	for i, want := range table {
		t.Run(want.name, func(t *testing.T) {
			got := row{want.kind, want.kind.String(), want.kind.HTTPStatus(), want.kind.GRPCCode(), want.kind.Retryable()}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if int(want.kind) != i {
				t.Errorf("has the number %d, had %d: Kinds are appended, never reordered", want.kind, i)
			}
		})
	}
}

// A Kind that this table lacks is a Kind that nobody has decided on.
func TestTableIsWhole(t *testing.T) {
	next := failure.Kind(len(table))
	if next.String() != "INTERNAL" || next.HTTPStatus() != 500 || next.GRPCCode() != codes.Internal {
		t.Errorf("Kind %d is %s: add it to the table of this test", next, next)
	}
}
