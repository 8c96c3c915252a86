package server

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Memory is the resident memory of the process in bytes.
func (s *Server) Memory() (int64, error) { return s.status("VmRSS:") }

// Peak is the most that Memory has been.
func (s *Server) Peak() (int64, error) { return s.status("VmHWM:") }

func (s *Server) status(key string) (int64, error) {
	data, err := s.proc("status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(data) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == key {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("read memory: no " + key)
}

// tick is the unit of the times in /proc, the same on every Linux that Go knows.
const tick = 10 * time.Millisecond

// CPU is the processor time that the process has used, its own and the kernel's
// for it, to a hundredth of a second.
func (s *Server) CPU() (time.Duration, error) {
	data, err := s.proc("stat")
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold anything. User and system time are the
	// fields 14 and 15.
	fields := strings.Fields(data[strings.LastIndexByte(data, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read processor time: %q", data)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, other := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, errors.Join(err, other)
}

func (s *Server) proc(name string) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/" + name)
	if err != nil {
		return "", fmt.Errorf("read /proc: %w", err)
	}
	return string(data), nil
}
