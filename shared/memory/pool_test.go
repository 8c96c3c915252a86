package memory_test

import (
	"testing"

	"triptych/shared/memory"
)

func TestLentMemoryFits(t *testing.T) {
	var pool memory.Pool
	for n := range 5000 {
		lend(t, &pool, n)
	}
	for n := 5000; n < 1<<24; n += n / 7 {
		lend(t, &pool, n)
		for _, near := range []int{n &^ (n - 1), n | 1} {
			lend(t, &pool, near)
		}
	}
}

// lend takes n bytes and gives them back.
func lend(t *testing.T, pool *memory.Pool, n int) {
	t.Helper()
	data := pool.Get(n)
	if len(*data) != n {
		t.Fatalf("%d bytes: lent %d", n, len(*data))
	}
	if n > 4096 && cap(*data) > n+n/4+1 {
		t.Fatalf("%d bytes: lent out of %d", n, cap(*data))
	}
	pool.Put(data)
}

func TestMemoryComesBack(t *testing.T) {
	var pool memory.Pool
	pool.Put(pool.Get(1_000_000))
	// Under the race detector a sync.Pool drops some of what it gets.
	if fresh := testing.AllocsPerRun(100, func() { pool.Put(pool.Get(990_000)) }); fresh > 1 {
		t.Errorf("%v allocations for memory of the same class", fresh)
	}
}

func TestForeignMemoryIsNotLent(t *testing.T) {
	var pool memory.Pool
	foreign := make([]byte, 1000, 1001)
	pool.Put(&foreign)
	if got := pool.Get(1001); cap(*got) == 1001 {
		t.Error("memory of another size was lent")
	}
}
