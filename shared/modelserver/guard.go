package modelserver

import "triptych/shared/failure"

// caught, deferred, turns a panic of a backend or a model into an Internal
// failure of the one act that it broke. It is failure.Guard for a whole function.
func caught(err *error, format string, args ...any) {
	if p := recover(); p != nil {
		*err = failure.Wrap(failure.Panicked(p), failure.Internal, format, args...)
	}
}
