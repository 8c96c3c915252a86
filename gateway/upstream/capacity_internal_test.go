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

// What was said of the queue fades as that does.
func TestQueue(t *testing.T) {
	const age = 40 * time.Millisecond
	for name, tt := range map[string]struct{ later, want time.Duration }{
		"at once":       {0, age},
		"half believed": {believed / 2, age / 2},
		"faded":         {believed, 0},
		"long ago":      {time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var w word
			w.hear(capacity.Report{Slots: 1, Running: 1, Waiting: 3, Age: age}, 1, time.Minute)
			if got := w.queue(time.Minute + tt.later); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
