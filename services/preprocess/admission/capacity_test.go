package admission_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/capacity"
)

// TestCapacity tells of the slots, of requests that wait and of the oldest image.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, config())
		if got, want := d.queue.Capacity(), (capacity.Report{Slots: 3}); got != want {
			t.Errorf("at rest: %+v", got)
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if name >= "d" {
				if err := d.queue.Enter(1); err != nil {
					t.Error(err)
				}
			}
			d.work(name, small, 10*time.Millisecond)
			time.Sleep(time.Millisecond)
		}
		if diff := cmp.Diff(capacity.Report{Slots: 3, Running: 3, Waiting: 2}, d.queue.Capacity()); diff != "" {
			t.Errorf("two wait for the first turn: %s", diff)
		}
		time.Sleep(5*time.Millisecond + time.Microsecond) // the first has ended
		d.queue.Started()
		if diff := cmp.Diff(capacity.Report{Slots: 3, Running: 3, Waiting: 1, Age: 6 * time.Millisecond}, d.queue.Capacity()); diff != "" {
			t.Errorf("one waits though others were taken: %s", diff)
		}
		d.queue.Started()
		d.wg.Wait()
	})
}
