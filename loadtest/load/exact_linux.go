package load

import (
	"syscall"
	"time"
)

// timerError is how late a timer of Go can be in an idle process: it waits for
// events with a resolution of a millisecond.
const timerError = time.Millisecond

// kernelSleep blocks a thread. What is past is not waited for.
func kernelSleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal ends it early, by less than a millisecond
}
