package web

import (
	"fmt"
	"runtime/debug"

	"triptych/shared/failure"
)

// Guard runs work and turns a panic into an Internal failure whose cause has the
// stack. Every goroutine that serves a request needs it: the server's own
// recovery covers only the goroutine of the handler.
func Guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(p)
		}
	}()
	return work()
}

// Panicked is the failure of a handler that panicked.
func Panicked(p any) error {
	return failure.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), failure.Internal, "internal error")
}
