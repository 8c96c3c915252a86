package classification_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"triptych/services/postprocess/classification"
)

var nan, inf = math.NaN(), math.Inf(1)

func classesOf(picks []classification.Pick) []int {
	var classes []int
	for _, p := range picks {
		classes = append(classes, p.Class)
	}
	return classes
}

func TestTopK(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		k      int
		want   []int
	}{
		{"best first", []float64{1, 9, 3, 7}, 3, []int{1, 3, 2}},
		{"REP-09 ties by class", []float64{5, 5, 5, 5, 5}, 3, []int{0, 1, 2}},
		{"ties after a better one", []float64{1, 2, 2, 2, 3}, 3, []int{4, 1, 2}},
		{"both zeros are equal", []float64{math.Copysign(0, -1), 0}, 2, []int{0, 1}},
		{"k is all", []float64{1, 2, 3}, 3, []int{2, 1, 0}},
		{"REP-09 k is more than all", []float64{1, 2, 3}, 10, []int{2, 1, 0}},
		{"REP-09 k is 0", []float64{1, 2, 3}, 0, nil},
		{"k is negative", []float64{1, 2, 3}, -1, nil},
		{"no values", nil, 3, nil},
		{"NaN never first", []float64{nan, 1, nan, -inf}, 2, []int{1, 3}},
		{"NaN last, then by class", []float64{nan, -inf, nan, inf}, 4, []int{3, 1, 0, 2}},
		{"NaN makes room", []float64{nan, nan, nan, 1, 2}, 2, []int{4, 3}},
		{"all NaN", []float64{nan, nan, nan}, 2, []int{0, 1}},
		{"infinities", []float64{0, inf, -inf, inf}, 3, []int{1, 3, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := classesOf(classification.TopK(nil, tt.values, tt.k)); !slices.Equal(got, tt.want) {
				t.Errorf("TopK(%v, %d) = %v, want %v", tt.values, tt.k, got, tt.want)
			}
		})
	}
}

func TestTopKAppends(t *testing.T) {
	picks := classification.TopK(nil, []float64{1, 2}, 1)
	picks = classification.TopK(picks, []float64{4, 3}, 2)
	if got, want := classesOf(picks), []int{1, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("classes = %v, want %v", got, want)
	}
}

// The picks are those of a full, stable sort, whatever the values.
func TestTopKIsAPrefixOfTheSort(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		values := make([]float64, random.IntN(40))
		for i := range values {
			values[i] = float64(random.IntN(10)) // many ties
			if random.IntN(8) == 0 {
				values[i] = []float64{nan, inf, -inf}[random.IntN(3)]
			}
		}
		sorted := make([]int, len(values))
		for i := range sorted {
			sorted[i] = i
		}
		slices.SortStableFunc(sorted, func(a, b int) int {
			return cmp.Compare(values[b], values[a]) // cmp puts NaN before all, so reversed: last
		})
		k := random.IntN(45)
		want := sorted[:min(k, len(sorted))]
		if got := classesOf(classification.TopK(nil, values, k)); !slices.Equal(got, want) {
			t.Fatalf("TopK(%v, %d) = %v, want %v", values, k, got, want)
		}
	}
}

func BenchmarkTopK(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 1000)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	for _, k := range []int{1, 5, 100, 1000} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			picks := make([]classification.Pick, 0, k)
			b.ReportAllocs()
			for b.Loop() {
				picks = classification.TopK(picks[:0], values, k)
			}
		})
	}
}
