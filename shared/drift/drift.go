// Package drift compares two answers to one question, number by number: how far
// they are apart, whether the largest of each row is the same one, and whether
// one has NaN or infinity where the other has a number. It judges nothing.
package drift

import (
	"math"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Difference is what sets an answer apart from the one before.
type Difference struct {
	// Elements is how many there are.
	Elements int
	// NotFinite counts the elements that are NaN or infinite and were numbers
	// before. FirstNotFinite is the first of them.
	NotFinite, FirstNotFinite int
	// Abs is the largest difference of two numbers, At the element that has it.
	Abs float64
	At  int
	// Before and Now are the two numbers there.
	Before, Now float64
	// Scale is the largest magnitude before.
	Scale float64
	// Rows counts what can be compared by its largest element, Agreed those rows
	// in which that is the same one. Row is the first that does not agree, TopBefore
	// and TopNow are the two places in it.
	Rows, Agreed           int
	Row, TopBefore, TopNow int
}

// Relative is Abs as a share of the largest magnitude before. It is not taken
// element by element: next to zero every difference is large.
func (d Difference) Relative() float64 {
	switch {
	case d.Abs == 0:
		return 0
	case d.Scale == 0:
		return math.Inf(1)
	}
	return d.Abs / d.Scale
}

// Compare takes two tensors of one datatype and shape. With batching the first
// dimension counts requests. Of BYTES only the number of elements is known.
func Compare(before, now oip.Tensor, batching bool) (Difference, error) {
	n, err := oip.Elements(before.Shape)
	if err != nil {
		return Difference{}, err
	}
	d := Difference{Elements: int(n)}
	at := readers[before.Datatype]
	if at == nil {
		return d, nil
	}
	size := n * int64(oip.Size(before.Datatype))
	if now.Datatype != before.Datatype || int64(len(before.Data)) != size || int64(len(now.Data)) != size {
		return d, failure.New(failure.Internal, "tensors of %d and %d bytes can't be compared as %s %s", len(before.Data), len(now.Data), before.Datatype, oip.FormatShape(before.Shape))
	}
	for i := range d.Elements {
		d.element(i, at(before.Data, i), at(now.Data, i))
	}
	if width := rowWidth(before, batching); width > 0 {
		for row := range d.Elements / width {
			d.row(row, width, func(i int) float64 { return at(before.Data, i) }, func(i int) float64 { return at(now.Data, i) })
		}
	}
	return d, nil
}

func (d *Difference) element(i int, before, now float64) {
	if !finite(before) {
		return
	}
	d.Scale = max(d.Scale, math.Abs(before))
	if !finite(now) {
		if d.NotFinite == 0 {
			d.FirstNotFinite = i
		}
		d.NotFinite++
		return
	}
	if apart := math.Abs(now - before); apart > d.Abs {
		d.Abs, d.At, d.Before, d.Now = apart, i, before, now
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// rowWidth is the length of the rows that have a largest element: the last
// dimension. A single whole number is a row too, for a class has to be the same
// one; a single score is not. 0 means that there are no rows.
func rowWidth(t oip.Tensor, batching bool) int {
	dims := t.Shape
	if batching && len(dims) > 0 {
		dims = dims[1:]
	}
	if len(dims) > 0 && dims[len(dims)-1] > 1 {
		return int(dims[len(dims)-1])
	}
	if isFloat(t.Datatype) {
		return 0
	}
	return 1
}

// row compares the largest elements of a row. One that shares its place at the
// top agrees with either.
func (d *Difference) row(row, width int, before, now func(i int) float64) {
	d.Rows++
	first := row * width
	if width == 1 {
		if before(first) == now(first) {
			d.Agreed++
		} else if d.Rows == d.Agreed+1 {
			d.Row, d.TopBefore, d.TopNow = row, int(before(first)), int(now(first))
		}
		return
	}
	was, is := largest(first, width, before), largest(first, width, now)
	if was == is || now(first+was) == now(first+is) {
		d.Agreed++
	} else if d.Rows == d.Agreed+1 {
		d.Row, d.TopBefore, d.TopNow = row, was, is
	}
}

// largest is the place of the largest element of a row. NaN never is, unless
// there is nothing else.
func largest(first, width int, at func(i int) float64) int {
	top := 0
	for i := 1; i < width; i++ {
		if v, best := at(first+i), at(first+top); v > best || (math.IsNaN(best) && !math.IsNaN(v)) {
			top = i
		}
	}
	return top
}

// NaNs counts the elements of a tensor that are NaN.
func NaNs(t oip.Tensor) int {
	if !isFloat(t.Datatype) {
		return 0
	}
	at, count := readers[t.Datatype], 0
	for i := range len(t.Data) / oip.Size(t.Datatype) {
		if math.IsNaN(at(t.Data, i)) {
			count++
		}
	}
	return count
}
