package resample

import (
	"math"
	"testing"
)

// Vector code splits a weight w = 2048*high + low and multiplies 16 bits. It is
// right if high fits, and if no sum leaves 32 bits; weights of a position add up to
// one, and what is negative overshoots.
func TestWeightsFitTheirHalves(t *testing.T) {
	largest, total := int32(0), int64(0)
	for _, filter := range filters {
		for _, aliased := range []bool{false, true} {
			for in := 1; in <= 70; in++ {
				for _, out := range []int{1, 2, 3, 5, 7, 16, 31, 64, 65, 224, 1000} {
					a, err := NewAxis(Side{In: in, Out: out, To: out, Filter: filter, Aliased: aliased})
					if err != nil {
						t.Fatal(err)
					}
					for i := range a.first {
						if a.picks {
							continue
						}
						sum := int64(0)
						for _, w := range a.row(i) {
							largest = max(largest, w, -w)
							sum += int64(max(w, -w)) * 255
						}
						total = max(total, sum)
					}
				}
			}
		}
	}
	if largest < 1<<precision || largest>>11 > math.MaxInt16/8 {
		t.Errorf("the largest weight is %d, of which the upper half is %d", largest, largest>>11)
	}
	if total+half > math.MaxInt32 {
		t.Errorf("sums reach %d", total)
	}
}
