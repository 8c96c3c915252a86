package budget_test

import (
	"testing"
	"testing/synctest"
	"time"

	"triptych/gateway/upstream/budget"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// taken is how often in a row leave is given.
func taken(b *budget.Budget) int {
	n := 0
	for b.Take() {
		n++
	}
	return n
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Config{Percent: 20, PerSecond: 2})
		if n := taken(b); n != 20 {
			t.Errorf("without any calls %d were granted", n)
		}
		for range 50 {
			b.Call()
		}
		if left, n := b.Left(), taken(b); left != 10 || n != 10 {
			t.Errorf("after 50 calls %d were left and %d granted", left, n)
		}
		time.Sleep(9 * time.Second)
		if b.Take() {
			t.Error("what was granted nine seconds ago is forgotten")
		}
		for range 5 {
			b.Call()
		}
		if n := taken(b); n != 1 {
			t.Errorf("after 5 more calls %d were granted", n)
		}
		time.Sleep(time.Second)
		if n := taken(b); n != 20 {
			t.Errorf("in the eleventh second %d were granted", n)
		}
		time.Sleep(time.Hour)
		if n := taken(b); n != 20 {
			t.Errorf("after an hour %d were granted", n)
		}
	})
}

func TestNothing(t *testing.T) {
	t.Parallel()
	b := budget.New(budget.Config{})
	b.Call()
	if b.Take() || b.Left() != 0 {
		t.Error("a budget of nothing grants something")
	}
}

func BenchmarkCall(b *testing.B) {
	budget := budget.New(budget.Config{Percent: 20, PerSecond: 10})
	b.ReportAllocs()
	for b.Loop() {
		budget.Call()
	}
}
