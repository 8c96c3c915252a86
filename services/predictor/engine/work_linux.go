package engine

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// workOf begins to count the processor time of this thread. The function that it gives
// ends that, on the same goroutine.
func workOf(work *time.Duration) (end func()) {
	runtime.LockOSThread()
	begun := threadTime()
	return func() {
		*work = threadTime() - begun
		runtime.UnlockOSThread()
	}
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0 // of both ends: the work is not known
	}
	return time.Duration(t.Nano())
}
