package ours

import (
	"context"
	"fmt"
	"image"
	"math"
	"os"
	"runtime"

	"github.com/disintegration/imaging"

	"triptych/loadtest/bench/turns"
	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
)

// Imaging is the library of Go that people would use else.
const Imaging = "disintegration/imaging"

// near is by how much the samples of another library's bicubic filter may differ.
const near = 3

// prepareResize holds pixels ready and resizes them, all of them to all of them.
func prepareResize(task turns.Task) (turns.Work, turns.Prepared, error) {
	p := turns.Prepared{Version: runtime.Version()}
	if len(task.Files) != 1 {
		return nil, p, fmt.Errorf("there are %d files, one is wanted", len(task.Files))
	}
	r, err := newResizer(task)
	if err != nil {
		return nil, p, err
	}
	if err := r.ours(); err != nil {
		return nil, p, err
	}
	p.Sums = []string{turns.Sum(r.out)}
	if task.Library == "" {
		return func(int) error { return r.ours() }, p, nil
	}
	if task.Library != Imaging || task.Filter != string(resample.Bicubic) {
		return nil, p, fmt.Errorf("there is no %q with filter %q", task.Library, task.Filter)
	}
	p.Version = "1.6.2"
	from := r.nrgba()
	if p.Difference = r.difference(r.imaging(from)); p.Difference > near {
		return nil, p, fmt.Errorf("samples differ by %d from ours, which can't be the same filter", p.Difference)
	}
	return func(int) error { r.imaging(from); return nil }, p, nil
}

// resizer resizes one picture to one size.
type resizer struct {
	pool   pixels.Pool
	axes   resample.Axes
	from   *pixels.Image
	filter resample.Filter
	to     image.Point
	out    []byte
}

func newResizer(task turns.Task) (*resizer, error) {
	data, err := os.ReadFile(task.Files[0])
	if err != nil {
		return nil, err
	}
	header, err := decode.Open(data, decode.Options{Limits: decode.Limits{Bytes: math.MaxInt32, Pixels: math.MaxInt32, Side: math.MaxInt32}})
	if err != nil {
		return nil, err
	}
	r := &resizer{filter: resample.Filter(task.Filter)}
	if r.from, err = header.Decode(context.Background(), &r.pool, decode.View{}); err != nil {
		return nil, err
	}
	r.to = shortest(r.from.Size, task.Size)
	r.out = make([]byte, pixels.Samples*r.to.X*r.to.Y)
	return r, nil
}

// shortest is torchvision's size: the shorter side is given, the longer one cut to
// a whole number.
func shortest(from image.Point, size int) image.Point {
	if from.X <= from.Y {
		return image.Pt(size, size*from.Y/from.X)
	}
	return image.Pt(size*from.X/from.Y, size)
}

func (r *resizer) ours() error {
	columns, err := r.axes.Axis(resample.Side{In: r.from.Size.X, Out: r.to.X, To: r.to.X, Filter: r.filter})
	if err != nil {
		return err
	}
	rows, err := r.axes.Axis(resample.Side{In: r.from.Size.Y, Out: r.to.Y, To: r.to.Y, Filter: r.filter})
	if err != nil {
		return err
	}
	canvas := resample.Canvas{Pix: r.out, Stride: pixels.Samples * r.to.X}
	resample.Resize(r.from, columns, rows, resample.RowsFirst(columns, rows), canvas, &r.pool)
	return nil
}

// nrgba is the picture as the library has it.
func (r *resizer) nrgba() *image.NRGBA {
	img := image.NewNRGBA(image.Rectangle{Max: r.from.Size})
	for i := range r.from.Size.X * r.from.Size.Y {
		copy(img.Pix[4*i:], r.from.Pix[3*i:3*i+3])
		img.Pix[4*i+3] = math.MaxUint8
	}
	return img
}

func (r *resizer) imaging(from *image.NRGBA) *image.NRGBA {
	return imaging.Resize(from, r.to.X, r.to.Y, imaging.CatmullRom)
}

// difference is the greatest to our own result.
func (r *resizer) difference(img *image.NRGBA) int {
	most := 0
	for i, v := range r.out {
		most = max(most, max(int(v), int(img.Pix[i/3*4+i%3]))-min(int(v), int(img.Pix[i/3*4+i%3])))
	}
	return most
}
