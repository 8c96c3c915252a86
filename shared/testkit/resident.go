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
	return status(tb, "VmRSS:")
}

// ResetPeak makes the system forget the most memory that the process had.
func ResetPeak(tb testing.TB) {
	tb.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		tb.Fatal(err)
	}
}

// Peak is the most memory in bytes that the process had since ResetPeak.
func Peak(tb testing.TB) int64 {
	tb.Helper()
	return status(tb, "VmHWM:")
}

func status(tb testing.TB, key string) int64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte(key))
	var kilobytes int64
	if _, err := fmt.Sscan(string(rest), &kilobytes); err != nil {
		tb.Fatal(err)
	}
	return kilobytes << 10
}
