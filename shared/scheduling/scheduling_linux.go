package scheduling

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"triptych/shared/failure"
)

// rounds bounds how often the list of threads is read: one that was started between
// the reading and the setting has its class from who started it, which may have been
// the old one.
const rounds = 3

func batch() error {
	for range rounds {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return failure.Wrap(err, failure.Internal, "the threads of the process can't be listed")
		}
		changed := 0
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				continue
			}
			did, err := toBatch(id)
			if err != nil {
				return failure.Wrap(err, failure.Forbidden, "the kernel does not give the scheduling class")
			}
			changed += did
		}
		if changed == 0 {
			return nil
		}
	}
	return nil
}

// toBatch changes a thread of the normal class, and tells whether it did. A thread
// that has ended meanwhile is none.
func toBatch(id int) (changed int, err error) {
	attributes, err := unix.SchedGetAttr(id, 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, nil
	}
	if err != nil || attributes.Policy != unix.SCHED_NORMAL {
		return 0, err
	}
	attributes.Policy = unix.SCHED_BATCH // the nice value stays
	err = unix.SchedSetAttr(id, attributes, 0)
	if errors.Is(err, unix.ESRCH) {
		return 0, nil
	}
	return 1, err
}
