package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"triptych/shared/failure"
)

// Usage is what a process has taken so far.
type Usage struct {
	// CPU is user and system time of all its threads, those that have ended aside.
	CPU time.Duration
	// Resident is its memory now, Peak the most that it ever was, in bytes.
	Resident, Peak int64
}

// Usage is what the service has taken so far.
func (s *Service) Usage() (Usage, error) {
	folder := "/proc/" + strconv.Itoa(s.command.Process.Pid)
	cpu, err := processorTime(folder)
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: cpu}
	for key, value := range map[string]*int64{"VmRSS:": &u.Resident, "VmHWM:": &u.Peak} {
		_, rest, _ := bytes.Cut(status, []byte(key))
		if _, err := fmt.Sscan(string(rest), value); err != nil {
			return u, failure.Wrap(err, failure.Internal, "the system says nothing of %s", key)
		}
		*value <<= 10
	}
	return u, nil
}

// processorTime adds up the threads' run times, which are finer than the clock
// ticks in a process's own file.
func processorTime(folder string) (time.Duration, error) {
	files, err := filepath.Glob(filepath.Join(folder, "task", "*", "schedstat"))
	if err != nil || len(files) == 0 {
		return 0, failure.New(failure.Internal, "the system tells no processor time of %s", folder)
	}
	var total time.Duration
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has just ended
		}
		nanoseconds, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(nanoseconds)
	}
	return total, nil
}

// Own is the processor time that this process itself has taken so far.
func Own() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
