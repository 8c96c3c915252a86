package failure_test

import (
	"errors"
	"strings"
	"testing"

	"triptych/shared/failure"
)

func TestGuard(t *testing.T) {
	busy := failure.New(failure.Busy, "later")
	cases := map[string]struct {
		f       func() error
		kind    failure.Kind
		message string
		cause   string // of the panic
	}{
		"an error stays":  {func() error { return busy }, failure.Busy, "later", ""},
		"a panic":         {func() error { panic("secret") }, failure.Internal, "the 100% act broke", "panic: secret\n"},
		"a runtime error": {func() error { return []error{}[len(busy.Message)] }, failure.Internal, "the 100% act broke", "index out of range [5]"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := failure.Guard("the 100% act broke", c.f)
			if failure.KindOf(err) != c.kind || failure.Message(err) != c.message {
				t.Errorf("%s %q, want %s %q", failure.KindOf(err), failure.Message(err), c.kind, c.message)
			}
			var panicked *failure.Panic
			if got := errors.As(err, &panicked); got != (c.cause != "") {
				t.Fatalf("caused by a panic: %t", got)
			}
			if c.cause != "" && (!strings.Contains(err.Error(), c.cause) || !strings.Contains(string(panicked.Stack), "guard_test.go")) {
				t.Errorf("the cause lacks %q or where it was: %v", c.cause, err)
			}
		})
	}
	if err := failure.Guard("fine", func() error { return nil }); err != nil {
		t.Error(err)
	}
}
