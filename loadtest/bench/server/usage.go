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
func (p *Process) Memory() (int64, error) { return p.status("VmRSS:") }

// Peak is the most that Memory has been.
func (p *Process) Peak() (int64, error) { return p.status("VmHWM:") }

// ResetPeak makes Peak begin anew, with what the process holds now.
func (p *Process) ResetPeak() error {
	if err := os.WriteFile(p.path("clear_refs"), []byte(resetPeak), 0o200); err != nil {
		return fmt.Errorf("forget the peak of memory: %w", err)
	}
	return nil
}

// resetPeak is what the kernel takes for it.
const resetPeak = "5"

func (p *Process) status(key string) (int64, error) {
	data, err := p.proc("status")
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
func (p *Process) CPU() (time.Duration, error) {
	data, err := p.proc("stat")
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

func (p *Process) proc(name string) (string, error) {
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		return "", fmt.Errorf("read /proc: %w", err)
	}
	return string(data), nil
}

func (p *Process) path(name string) string {
	return "/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/" + name
}
