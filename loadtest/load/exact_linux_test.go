package load_test

import (
	"testing"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// In real time, since it is about the kernel. Most requests leave in time even on
// a busy machine.
func TestOpenIsExact(t *testing.T) {
	recorder := measure.NewRecorder()
	load.Open(t.Context(), plan(300, 0), load.Arrivals{Rate: 1000, MaxOutstanding: 100, Seed: 1, Exact: true}, takes(0), recorder)
	if r := recorder.Result(); r.Answered != 300 || r.Lateness.P50 > 300*time.Microsecond {
		t.Errorf("answered %d, late %+v", r.Answered, r.Lateness)
	}
}
