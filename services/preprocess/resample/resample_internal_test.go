package resample

import (
	"image"
	"math/rand/v2"
	"testing"

	"triptych/services/preprocess/pixels"
)

// filters are all of them, but the one with arithmetic of its own.
var filters = []Filter{Nearest, Box, Bilinear, Hamming, Bicubic, Lanczos}

// naive is what Resize must give, by the definition: every pixel is a sum of sums.
func naive(img *pixels.Image, columns, rows *Axis, rowsFirst bool) []byte {
	left, right := columns.Span()
	top, bottom := rows.Span()
	at := func(x, y, c int) int32 { return int32(img.Row(y)[3*(x-img.Bounds.Min.X)+c]) }
	across := func(x, y, c int, at func(x, y, c int) int32) int32 {
		return weighted(columns, x, func(from int) int32 { return at(from, y, c) })
	}
	down := func(x, y, c int, at func(x, y, c int) int32) int32 {
		return weighted(rows, y, func(from int) int32 { return at(x, from, c) })
	}
	first, second, between := across, down, image.Rect(0, top, columns.Len(), bottom)
	if rowsFirst {
		first, second, between = down, across, image.Rect(left, 0, right, rows.Len())
	}
	middle := make([]int32, 3*between.Dx()*between.Dy())
	place := func(x, y, c int) int { return 3*((y-between.Min.Y)*between.Dx()+x-between.Min.X) + c }
	each(between, func(x, y, c int) { middle[place(x, y, c)] = first(x, y, c, at) })
	var out []byte
	each(image.Rect(0, 0, columns.Len(), rows.Len()), func(x, y, c int) {
		out = append(out, byte(second(x, y, c, func(x, y, c int) int32 { return middle[place(x, y, c)] })))
	})
	return out
}

func each(r image.Rectangle, do func(x, y, c int)) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			for c := range 3 {
				do(x, y, c)
			}
		}
	}
}

// weighted is one sample of a pass, in 64 bits, so that what overflows shows.
func weighted(a *Axis, i int, at func(from int) int32) int32 {
	first := int(a.first[i])
	if a.picks {
		return at(first)
	}
	sum := int64(1 << 21)
	for k, w := range a.row(i) {
		sum += int64(w) * int64(at(first+k))
	}
	return int32(min(max(sum>>22, 0), 255))
}

// task is one picture to resize, drawn from a few numbers.
type task struct {
	columns, rows Side
	rowsFirst     bool
	seed          uint64
}

func (c task) axes(t *testing.T) (columns, rows *Axis) {
	t.Helper()
	made := [2]*Axis{}
	for i, s := range []Side{c.columns, c.rows} {
		a, err := NewAxis(s)
		if err != nil {
			t.Fatal(err)
		}
		made[i] = a
	}
	return made[0], made[1]
}

// picture holds what the axes need and up to three pixels more on each side. Its
// memory ends where it ends, so that whoever reads on is found by a sanitizer.
func (c task) picture(columns, rows *Axis) *pixels.Image {
	r := rand.New(rand.NewPCG(c.seed, 1))
	var b image.Rectangle
	b.Min.X, b.Max.X = columns.Span()
	b.Min.Y, b.Max.Y = rows.Span()
	b.Min = b.Min.Sub(image.Pt(r.IntN(4), r.IntN(4)))
	b.Max = b.Max.Add(image.Pt(r.IntN(4), r.IntN(4)))
	size := image.Pt(c.columns.In, c.rows.In)
	b = b.Intersect(image.Rectangle{Max: size})
	img := &pixels.Image{Pix: make([]byte, 3*b.Dx()*b.Dy()), Bounds: b, Size: size}
	extremes := c.seed%3 == 0
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if extremes {
			img.Pix[i] = -(img.Pix[i] & 1)
		}
	}
	return img
}

// plain is portable in the form of a way.
func (w work) plain() bool {
	w.portable()
	return true
}

// check compares every way to resize with naive, on a canvas that ends where the
// result ends and has gaps that must stay as they are.
func check(t *testing.T, c task) {
	t.Helper()
	columns, rows := c.axes(t)
	if columns.Len() == 0 || rows.Len() == 0 {
		return
	}
	img := c.picture(columns, rows)
	want := naive(img, columns, rows, c.rowsFirst)
	width := 3 * columns.Len()
	stride := width + int(c.seed%5)
	var pool pixels.Pool
	for name, resize := range ways {
		out := make([]byte, (rows.Len()-1)*stride+width)
		for i := range out {
			out[i] = 77
		}
		if !resize(newWork(img, columns, rows, c.rowsFirst, Canvas{Pix: out, Stride: stride}, &pool)) {
			continue
		}
		for i, v := range out {
			switch y, x := i/stride, i%stride; {
			case x >= width && v != 77:
				t.Fatalf("%s: %+v: byte %d behind row %d is overwritten", name, c, x-width, y)
			case x < width && v != want[y*width+x]:
				t.Fatalf("%s: %+v: sample %d of row %d is %d, want %d", name, c, x, y, v, want[y*width+x])
			}
		}
	}
}

// draw is a task out of a source of numbers.
func draw(r *rand.Rand, largest int) task {
	side := func() Side {
		s := Side{In: 1 + r.IntN(largest), Out: 1 + r.IntN(largest), Filter: filters[r.IntN(len(filters))], Aliased: r.IntN(4) == 0, Mirrored: r.IntN(2) == 0}
		if r.IntN(8) == 0 {
			s.Out = s.In
		}
		s.From = r.IntN(s.Out)
		s.To = s.From + 1 + r.IntN(s.Out-s.From)
		if r.IntN(3) == 0 {
			s.From, s.To = 0, s.Out
		}
		return s
	}
	c := task{columns: side(), rows: side(), seed: r.Uint64()}
	c.rows.Filter = c.columns.Filter
	c.rowsFirst = r.IntN(2) == 0
	return c
}

func TestEveryWayGivesTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, largest := range []int{3, 8, 20, 60} {
		for range 300 {
			check(t, draw(r, largest))
		}
	}
	for range 15 {
		check(t, draw(r, 300))
	}
}

func FuzzResize(f *testing.F) {
	f.Add(uint64(1), uint64(2), 300)
	f.Add(uint64(3), uint64(4), 5)
	f.Fuzz(func(t *testing.T, a, b uint64, largest int) {
		check(t, draw(rand.New(rand.NewPCG(a, b)), 1+int(uint(largest)%300)))
	})
}
