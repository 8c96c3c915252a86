//go:build !linux

package simulator

// newWaiter makes what this system has: timers that may be 1 ms late.
func newWaiter() (waiter, error) { return goTimers{}, nil }
