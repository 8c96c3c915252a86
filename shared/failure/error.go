package failure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DefaultRetryAfter is the hint given with a retryable Kind when nobody has
// computed a better one.
const DefaultRetryAfter = time.Second

// Error is a failure with a Kind. Message is for the caller, Cause for logs and
// traces only.
type Error struct {
	Kind       Kind
	Message    string
	Cause      error
	RetryAfter time.Duration
}

// New makes a failure of a Kind with a message for the caller.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a failure of a Kind with a message for the caller and a cause that
// only logs and traces show.
func Wrap(cause error, kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Prefix keeps the Kind and the hint of err and puts a prefix, such as the name
// of the step that failed, before the caller's message.
func Prefix(prefix string, err error) *Error {
	cause := err
	//nolint:errorlint // Only what is itself a failure is unfolded: its message is in the new one.
	if f, ok := err.(*Error); ok {
		cause = f.Cause
	}
	return &Error{Kind: KindOf(err), Message: prefix + ": " + Message(err), Cause: cause, RetryAfter: RetryAfter(err)}
}

// Error is the text for logs: the message, then the cause.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf classifies err: by its own Kind, by the context's errors, else Internal.
func KindOf(err error) Kind {
	var f *Error
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	default:
		return Internal
	}
}

// Message is what the caller may read of err, as UTF-8: it may quote a file or a
// name that is not, and no answer could carry it. The text of an error without
// a Kind is never shown.
func Message(err error) string {
	var f *Error
	if errors.As(err, &f) {
		return strings.ToValidUTF8(f.Message, "\uFFFD")
	}
	switch KindOf(err) {
	case Cancelled:
		return "the caller has gone"
	case Deadline:
		return "the deadline of the request has passed"
	default:
		return "internal error"
	}
}

// RetryAfter is the hint when to try again: zero when err's Kind has none. A
// deadline has one only when somebody has computed it.
func RetryAfter(err error) time.Duration {
	kind := KindOf(err)
	if !kind.Retryable() && kind != Deadline {
		return 0
	}
	var f *Error
	if errors.As(err, &f) && f.RetryAfter > 0 {
		return f.RetryAfter
	}
	if kind == Deadline {
		return 0
	}
	return DefaultRetryAfter
}

// OfContext is the failure of a context that is done, or nil.
func OfContext(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return Wrap(context.Cause(ctx), KindOf(ctx.Err()), "%s", Message(ctx.Err()))
}
