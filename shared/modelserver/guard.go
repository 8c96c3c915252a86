package modelserver

import (
	"fmt"
	"runtime/debug"

	"triptych/shared/failure"
)

// caught, deferred, turns a panic of a backend or a model into an Internal
// failure of the one act that it broke. The stack is in the cause, for logs.
func caught(err *error, format string, args ...any) {
	if p := recover(); p != nil {
		*err = failure.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), failure.Internal, format, args...)
	}
}
