package measure

import (
	"syscall"
	"time"
)

// CPUTime is the processor time that this process has used, its own and the
// kernel's for it. On a machine that also runs the server, a generator takes
// this from it.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
