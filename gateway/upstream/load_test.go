package upstream_test

import (
	"testing"
	"time"

	"triptych/shared/capacity"
	"triptych/shared/testkit/servertest"
)

// TestOthersLoad keeps away from a replica of which another gateway makes much use,
// and prefers one with more slots.
func TestOthersLoad(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ one, two capacity.Report }{
		"others wait there": {capacity.Report{Slots: 2, Running: 2, Waiting: 30}, capacity.Report{Slots: 2}},
		"it has less slots": {capacity.Report{Slots: 1}, capacity.Report{Slots: 4}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := report(t, test.one), report(t, test.two)
			f := once(t, one.Address, two.Address)
			eventually(t, "both have said something", func() bool {
				infer(t, f, "a", 1, 2)
				sum, _ := f.Capacity("a", "")
				return sum.Slots == test.one.Slots+test.two.Slots
			})
			calls := map[string]int{}
			for begun := time.Now(); len(calls) == 0 || calls[two.Address] < 200 && time.Since(begun) < 200*time.Millisecond; {
				_, peer, err := f.Infer(t.Context(), servertest.Request("a", 1, 2))
				if err != nil {
					t.Fatal(err)
				}
				calls[peer]++
			}
			if calls[one.Address] > calls[two.Address]/10 {
				t.Errorf("the calls went to %v, the busy one is %s", calls, one.Address)
			}
		})
	}
}
