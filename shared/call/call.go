// Package call holds what travels with a request across every hop beside its
// deadline and its trace: the request's id and its priority. It knows nothing
// of how a hop is made.
package call

import "context"

// The names under which the values travel: gRPC metadata and NATS headers in
// lower case, HTTP headers in any.
const (
	RequestIDHeader = "x-request-id"
	PriorityHeader  = "triptych-priority"
	TenantHeader    = "triptych-tenant"
)

// MaxRequestID bounds the length of an id that a caller chose.
const MaxRequestID = 128

// maxTenant bounds the length of a tenant's name, and TenantRule says what ValidTenant
// looks at.
const (
	maxTenant  = 64
	TenantRule = "must be 1 to 64 printable ASCII characters without blanks"
)

// Info is what travels with one request.
type Info struct {
	// RequestID is made at the edge when the caller gave none.
	RequestID string
	// Priority is Triton's: 1 is the most urgent, 0 the model's default.
	Priority uint64
	// Bulk is set for the work of jobs, for which nobody waits. It is not told to
	// other processes.
	Bulk bool
	// Tenant is for whom the caller asks; empty when it does not say. It counts at the
	// head alone, and is not told to other processes.
	Tenant string
}

type key struct{}

// With puts info into the context.
func With(ctx context.Context, info Info) context.Context {
	return context.WithValue(ctx, key{}, info)
}

// Of is the info of the context, or nothing's.
func Of(ctx context.Context) Info {
	info, _ := ctx.Value(key{}).(Info)
	return info
}

// ValidRequestID tells whether a caller's id may be taken over: printable ASCII
// without blanks, so that it can't forge a header or a line of a log.
func ValidRequestID(id string) bool { return printable(id, MaxRequestID) }

// ValidTenant tells whether a name may be a tenant's: printable ASCII without
// blanks.
func ValidTenant(name string) bool { return printable(name, maxTenant) }

func printable(text string, most int) bool {
	if text == "" || len(text) > most {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
