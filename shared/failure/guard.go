package failure

import (
	"fmt"
	"runtime/debug"
)

// Panic is the cause of a failure that began as a panic. Only logs show it.
type Panic struct {
	Value any
	Stack []byte
}

// Panicked keeps what recover gave, with the stack. It is called by the deferred
// function itself, so that the stack still shows where the panic began.
func Panicked(value any) *Panic { return &Panic{Value: value, Stack: debug.Stack()} }

// Error shows what was panicked with, and where.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Guard runs f and turns a panic into an Internal failure. Its message is act,
// such as "the model broke while it was closed"; its cause is a *Panic. Every
// goroutine that does a caller's work needs it: nobody else stands around one.
func Guard(act string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Wrap(Panicked(v), Internal, "%s", act)
		}
	}()
	return f()
}
