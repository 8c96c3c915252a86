package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// usage is what the service has taken so far.
type usage struct {
	// cpu is user and system time of all its threads, those that have ended aside.
	cpu time.Duration
	// peak is the most memory that it ever had, in bytes.
	peak int64
}

func (s *service) usage(t *testing.T) usage {
	t.Helper()
	folder := filepath.Join("/proc", strconv.Itoa(s.process.Process.Pid))
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		t.Fatal(err)
	}
	u := usage{cpu: processorTime(t, folder)}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	if _, err := fmt.Sscan(string(rest), &u.peak); err != nil {
		t.Fatalf("the most memory: %v", err)
	}
	u.peak <<= 10
	return u
}

// processorTime adds up the threads' run times, which are finer than the clock
// ticks in a process's own file.
func processorTime(t *testing.T, folder string) time.Duration {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "task", "*", "schedstat"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads in %s: %v", folder, err)
	}
	var total time.Duration
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has just ended
		}
		nanoseconds, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(nanoseconds)
	}
	return total
}
