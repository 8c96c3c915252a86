package resample

import (
	"reflect"
	"sync"
	"testing"

	"triptych/shared/failure"
)

func TestAxesRemember(t *testing.T) {
	var axes Axes
	s := Side{In: 500, Out: 256, To: 256, Filter: Bicubic}
	first, err := axes.Axis(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := axes.Axis(s)
	if err != nil || again != first {
		t.Errorf("made again, %v", err)
	}
	s.Mirrored = true
	if mirrored, err := axes.Axis(s); err != nil || reflect.DeepEqual(mirrored, first) {
		t.Errorf("the mirrored one is the same, %v", err)
	}
	if _, err := axes.Axis(Side{In: 1, Out: 1, Filter: "sharp"}); failure.KindOf(err) != failure.Invalid {
		t.Errorf("got %v, want an invalid filter", err)
	}
}

// However many sizes come, by however many callers, memory is bounded and what is
// given is right.
func TestAxesAreBounded(t *testing.T) {
	var axes Axes
	var callers sync.WaitGroup
	for from := range 4 {
		callers.Go(func() {
			for n := range 150 {
				s := Side{In: 1 + (from*50+n)*19, Out: 256, To: 256, Filter: Bilinear}
				got, err := axes.Axis(s)
				if err != nil || got.in != s.In {
					t.Errorf("a side of %d pixels: got one of %d, %v", s.In, got.in, err)
				}
			}
		})
	}
	callers.Wait()
	held := 0
	for _, a := range axes.made {
		held += a.held()
	}
	if held != axes.held || held > mostHeld || len(axes.order) != len(axes.made) || len(axes.made) < 4 {
		t.Errorf("%d axes, %d in order, hold %d, counted as %d of %d", len(axes.made), len(axes.order), held, axes.held, mostHeld)
	}
	large := Side{In: 3, Out: 400_000, To: 400_000, Filter: Bilinear}
	if _, err := axes.Axis(large); err != nil || axes.made[large] != nil {
		t.Errorf("one that is larger than all room is kept, %v", err)
	}
}
