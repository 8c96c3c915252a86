package pixels_test

import (
	"image"
	"testing"

	"triptych/services/preprocess/pixels"
)

func TestMemoryComesBack(t *testing.T) {
	var pool pixels.Pool
	pool.Whole(1000, 1000).Release()
	fresh := testing.AllocsPerRun(100, func() { pool.Whole(990, 1000).Release() })
	if fresh > 2 { // the Image; under the race detector a pool drops some
		t.Errorf("%v allocations for a picture of the same class", fresh)
	}
}

func TestReleaseTwiceLendsOnce(t *testing.T) {
	var pool pixels.Pool
	m := pool.Whole(50, 50)
	m.Release()
	m.Release()
	a, b := pool.Whole(50, 50), pool.Whole(50, 50)
	a.Pix[0], b.Pix[0] = 1, 2
	if a.Pix[0] != 1 {
		t.Error("two pictures share memory")
	}
}

func TestRowsOfAPart(t *testing.T) {
	var pool pixels.Pool
	m := pool.Image(image.Pt(10, 8), image.Rect(2, 3, 5, 6))
	for i := range m.Pix {
		m.Pix[i] = byte(i)
	}
	if row := m.Row(4); len(row) != 9 || row[0] != 9 {
		t.Errorf("row 4 is %v", row)
	}
}
