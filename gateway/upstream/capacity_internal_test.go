package upstream

import (
	"testing"
	"time"

	"triptych/shared/capacity"
)

// What was said of others' calls fades within a second; our own are not in it.
func TestForeign(t *testing.T) {
	for name, tt := range map[string]struct {
		said  capacity.Report
		calls int64
		later time.Duration
		want  float64
	}{
		"at once":       {capacity.Report{Slots: 2, Running: 2, Waiting: 30}, 2, 0, 30},
		"half believed": {capacity.Report{Slots: 2, Running: 2, Waiting: 30}, 2, believed / 2, 15},
		"faded":         {capacity.Report{Slots: 2, Running: 2, Waiting: 30}, 2, believed, 0},
		"all are ours":  {capacity.Report{Slots: 2, Running: 1}, 3, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var w word
			w.hear(tt.said, tt.calls, time.Minute)
			if got := w.foreign(time.Minute + tt.later); got != tt.want {
				t.Errorf("%v calls, want %v", got, tt.want)
			}
		})
	}
}
