package classification

import (
	"cmp"
	"math"
	"slices"
)

// Pick is one class of a row: its number and its logit, later its score.
type Pick struct {
	Class int
	Value float64
}

// compare orders the better pick first: greater values, then smaller class
// numbers, NaN after all.
func compare(a, b Pick) int {
	aNaN, bNaN := math.IsNaN(a.Value), math.IsNaN(b.Value)
	switch {
	case aNaN && !bNaN:
		return 1
	case bNaN && !aNaN:
		return -1
	case a.Value != b.Value && !aNaN:
		return cmp.Compare(b.Value, a.Value)
	default:
		return cmp.Compare(a.Class, b.Class)
	}
}

// TopK appends the k best of values to picks, best first: all of them when
// there are fewer. It keeps a heap of k whose root is the worst, so that most
// values cost one comparison.
func TopK(picks []Pick, values []float64, k int) []Pick {
	k = min(k, len(values))
	if k <= 0 {
		return picks
	}
	start := len(picks)
	for class, v := range values[:k] {
		picks = append(picks, Pick{class, v})
	}
	heap := picks[start:]
	for i := k/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for class := k; class < len(values); class++ {
		// A later class loses a tie, so only a greater value gets in.
		if v := values[class]; v > heap[0].Value || (math.IsNaN(heap[0].Value) && !math.IsNaN(v)) {
			heap[0] = Pick{class, v}
			sink(heap, 0)
		}
	}
	slices.SortFunc(heap, compare)
	return picks
}

// sink moves the pick at i down until both below it are better.
func sink(heap []Pick, i int) {
	for {
		worst := 2*i + 1
		if worst >= len(heap) {
			return
		}
		if right := worst + 1; right < len(heap) && compare(heap[right], heap[worst]) > 0 {
			worst = right
		}
		if compare(heap[i], heap[worst]) >= 0 {
			return
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}
