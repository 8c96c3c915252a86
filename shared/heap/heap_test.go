package heap_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"triptych/shared/heap"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// sink keeps the compiler from leaving allocations out.
var sink []byte

// collections allocates garbage and counts how often it was collected.
func collections(total int) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range total >> 16 {
		sink = make([]byte, 1<<16)
	}
	runtime.ReadMemStats(&after)
	return int(after.NumGC - before.NumGC)
}

// 512 MiB of garbage in a process in which little lives: Go's rule collects after
// some 4 MiB, ours after the headroom.
func TestTune(t *testing.T) {
	untuned := collections(512 << 20)
	stop := heap.Tune(heap.Config{Headroom: 64 << 20})
	runtime.GC() // from here on the percentage is that of what lives
	collections(128 << 20)
	tuned := collections(512 << 20)
	stop()
	stop() // again does nothing
	if tuned < 4 || tuned > 16 || untuned < 4*tuned {
		t.Errorf("%d collections, %d untuned, want about 8", tuned, untuned)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the percentage is %d after the end, want 100", got)
	}
	collections(64 << 20) // what was left behind must not set it again
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the percentage is %d after a collection, want 100", got)
	}
}

func TestTuneLeavesAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		headroom int64
		before   int
	}{
		"GOGC was set": {64 << 20, 300},
		"GOGC=off":     {64 << 20, -1},
		"no headroom":  {0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(tt.before))
			defer heap.Tune(heap.Config{Headroom: tt.headroom})()
			runtime.GC()
			if got := debug.SetGCPercent(tt.before); got != tt.before {
				t.Errorf("the percentage is %d, want %d", got, tt.before)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	for headroom, good := range map[int64]bool{0: true, 1: true, 64 << 20: true, -1: false, 1<<40 + 1: false} {
		cfg := heap.Config{Headroom: headroom}
		if err := cfg.Validate(); (err == nil) != good || (err != nil && !strings.Contains(err.Error(), "--gc-headroom-bytes")) {
			t.Errorf("%d: %v", headroom, err)
		}
	}
}
