package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"triptych/shared/failure"
)

func TestErrorIsRead(t *testing.T) {
	secret := errors.New("password is hunter2")
	busy := &failure.Error{Kind: failure.Busy, Message: "queue is full", RetryAfter: 3 * time.Second}
	tests := map[string]struct {
		err     error
		kind    failure.Kind
		message string
		text    string
		after   time.Duration
	}{
		"new":               {failure.New(failure.Invalid, "shape %d", 7), failure.Invalid, "shape 7", "shape 7", 0},
		"a cause is hidden": {failure.Wrap(secret, failure.NotFound, "no %s", "model"), failure.NotFound, "no model", "no model: password is hunter2", 0},
		"wrapped by fmt":    {fmt.Errorf("load: %w", failure.New(failure.Conflict, "twice")), failure.Conflict, "twice", "load: twice", 0},
		"joined":            {errors.Join(secret, failure.New(failure.TooLarge, "big")), failure.TooLarge, "big", "password is hunter2\nbig", 0},
		"not UTF-8":         {failure.New(failure.Invalid, "field \xff"), failure.Invalid, "field \uFFFD", "field \xff", 0},
		"no Kind":           {secret, failure.Internal, "internal error", "password is hunter2", 0},
		"cancelled":         {fmt.Errorf("read: %w", context.Canceled), failure.Cancelled, "the caller has gone", "read: context canceled", 0},
		"deadline":          {context.DeadlineExceeded, failure.Deadline, "the deadline of the request has passed", "context deadline exceeded", 0},
		"own Kind goes before the context's": {
			failure.Wrap(context.Canceled, failure.Unavailable, "stopped"), failure.Unavailable, "stopped", "stopped: context canceled", failure.DefaultRetryAfter,
		},
		"computed hint":                 {busy, failure.Busy, "queue is full", "queue is full", 3 * time.Second},
		"default hint":                  {failure.New(failure.Unavailable, "down"), failure.Unavailable, "down", "down", time.Second},
		"no hint for what stays so":     {&failure.Error{Kind: failure.Invalid, Message: "x", RetryAfter: time.Minute}, failure.Invalid, "x", "x", 0},
		"prefix":                        {failure.Prefix("step a", busy), failure.Busy, "step a: queue is full", "step a: queue is full", 3 * time.Second},
		"prefix says a message once":    {failure.Prefix("step a", failure.Wrap(secret, failure.Internal, "broke")), failure.Internal, "step a: broke", "step a: broke: password is hunter2", 0},
		"prefix twice":                  {failure.Prefix("b", failure.Prefix("a", failure.Wrap(io.EOF, failure.Invalid, "short"))), failure.Invalid, "b: a: short", "b: a: short: EOF", 0},
		"prefix hides what has no Kind": {failure.Prefix("step a", secret), failure.Internal, "step a: internal error", "step a: internal error: password is hunter2", 0},
		"prefix keeps words between": {
			failure.Prefix("a", fmt.Errorf("act: %w", failure.New(failure.Invalid, "m"))), failure.Invalid, "a: m", "a: m: act: m", 0,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failure.KindOf(tt.err); got != tt.kind {
				t.Errorf("KindOf is %s, want %s", got, tt.kind)
			}
			if got := failure.Message(tt.err); got != tt.message {
				t.Errorf("Message is %q, want %q", got, tt.message)
			}
			if got := tt.err.Error(); got != tt.text {
				t.Errorf("Error is %q, want %q", got, tt.text)
			}
			if got := failure.RetryAfter(tt.err); got != tt.after {
				t.Errorf("RetryAfter is %s, want %s", got, tt.after)
			}
		})
	}
}

func TestCausesCanBeFound(t *testing.T) {
	for name, err := range map[string]error{
		"wrap":   failure.Wrap(io.ErrUnexpectedEOF, failure.Invalid, "short"),
		"prefix": failure.Prefix("p", failure.Wrap(io.ErrUnexpectedEOF, failure.Invalid, "short")),
		"plain":  failure.Prefix("p", io.ErrUnexpectedEOF),
	} {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v does not lead to its cause", name, err)
		}
	}
}

func TestOfContext(t *testing.T) {
	if err := failure.OfContext(t.Context()); err != nil {
		t.Errorf("a context that goes on: got %v, want nil", err)
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	expired, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	for name, tt := range map[string]struct {
		ctx   context.Context
		kind  failure.Kind
		cause error
		text  string
	}{
		"cancelled": {cancelled, failure.Cancelled, io.ErrClosedPipe, "the caller has gone"},
		"expired":   {expired, failure.Deadline, context.DeadlineExceeded, "the deadline of the request has passed"},
	} {
		err := failure.OfContext(tt.ctx)
		if failure.KindOf(err) != tt.kind || failure.Message(err) != tt.text || !errors.Is(err, tt.cause) {
			t.Errorf("%s: got %v of kind %s", name, err, failure.KindOf(err))
		}
	}
}
