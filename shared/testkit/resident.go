package testkit

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// Resident is the memory of the process in bytes, without what Go could give back.
func Resident(tb testing.TB) int64 {
	tb.Helper()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	var kilobytes int64
	if _, err := fmt.Sscan(string(rest), &kilobytes); err != nil {
		tb.Fatal(err)
	}
	return kilobytes << 10
}
