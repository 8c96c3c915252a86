package resample_test

import (
	"image"
	"runtime"
	"testing"

	"github.com/disintegration/imaging"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
)

// scene is a smooth picture, as a photograph is.
func scene(width, height int) *pixels.Image {
	img := pixels.Of(make([]byte, 3*width*height), width, height)
	for y := range height {
		row := img.Row(y)
		for x := range row {
			row[x] = byte(x*255/len(row)) ^ byte((x/40+y/30)%2*y*200/height)
		}
	}
	return img
}

// sizes are a source, and the part that is wanted of 341x256 pixels.
var sizes = []struct {
	name          string
	width, height int
	wanted        image.Rectangle
}{
	{"1280x960 to 341x256", 1280, 960, image.Rect(0, 0, 341, 256)},
	{"500x375 to 224x224 of 341x256", 500, 375, image.Rect(58, 16, 282, 240)},
	{"4000x3000 to 224x224 of 341x256", 4000, 3000, image.Rect(58, 16, 282, 240)},
	{"500x375 to 341x256", 500, 375, image.Rect(0, 0, 341, 256)},
	{"4000x3000 to 341x256", 4000, 3000, image.Rect(0, 0, 341, 256)},
}

// sides are those of a picture that becomes 341x256.
func sides(width, height int, wanted image.Rectangle, filter resample.Filter) (columns, rows resample.Side) {
	columns = resample.Side{In: width, Out: 341, From: wanted.Min.X, To: wanted.Max.X, Filter: filter}
	rows = resample.Side{In: height, Out: 256, From: wanted.Min.Y, To: wanted.Max.Y, Filter: filter}
	return columns, rows
}

// resizer is one call of what a service does for pictures of one size.
func resizer(tb testing.TB, width, height int, wanted image.Rectangle, filter resample.Filter) func() {
	img := scene(width, height)
	stride := 3 * wanted.Dx()
	target := resample.Canvas{Pix: make([]byte, stride*wanted.Dy()), Stride: stride}
	across, down := sides(width, height, wanted, filter)
	var axes resample.Axes
	var pool pixels.Pool
	return func() {
		columns, err := axes.Axis(across)
		if err != nil {
			tb.Fatal(err)
		}
		rows, err := axes.Axis(down)
		if err != nil {
			tb.Fatal(err)
		}
		resample.Resize(img, columns, rows, resample.RowsFirst(columns, rows), target, &pool)
	}
}

func TestSteadyTrafficAllocatesNothingOfSize(t *testing.T) {
	resize := resizer(t, 500, 375, image.Rect(58, 16, 282, 240), resample.Bicubic)
	if n := testing.AllocsPerRun(50, resize); n > 5 { // two of them if the pool has dropped what it held
		t.Errorf("%v allocations for a picture", n)
	}
}

func BenchmarkResize(b *testing.B) {
	for _, filter := range []resample.Filter{resample.Bicubic, resample.Lanczos, resample.OpenCVLinear} {
		for _, bm := range sizes {
			b.Run(string(filter)+" "+bm.name, func(b *testing.B) {
				resize := resizer(b, bm.width, bm.height, bm.wanted, filter)
				b.ReportAllocs()
				for b.Loop() {
					resize()
				}
			})
		}
	}
}

// BenchmarkImaging is what the same costs with disintegration/imaging, on one core.
func BenchmarkImaging(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, bm := range sizes {
		source := scene(bm.width, bm.height)
		img := image.NewNRGBA(image.Rect(0, 0, bm.width, bm.height))
		for i := range bm.width * bm.height {
			copy(img.Pix[4*i:], source.Pix[3*i:][:3])
			img.Pix[4*i+3] = 255
		}
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				imaging.Crop(imaging.Resize(img, 341, 256, imaging.CatmullRom), bm.wanted)
			}
		})
	}
}

func BenchmarkNewAxis(b *testing.B) {
	for _, filter := range []resample.Filter{resample.Bilinear, resample.Bicubic, resample.Lanczos} {
		b.Run("500x375 "+string(filter), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				columns, rows := sides(500, 375, image.Rect(58, 16, 282, 240), filter)
				for _, side := range []resample.Side{columns, rows} {
					if _, err := resample.NewAxis(side); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
