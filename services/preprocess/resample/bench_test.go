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

func axes(tb testing.TB, width, height int, wanted image.Rectangle, filter resample.Filter) (columns, rows *resample.Axis) {
	tb.Helper()
	columns, err := resample.NewAxis(resample.Side{In: width, Out: 341, From: wanted.Min.X, To: wanted.Max.X, Filter: filter})
	if err != nil {
		tb.Fatal(err)
	}
	rows, err = resample.NewAxis(resample.Side{In: height, Out: 256, From: wanted.Min.Y, To: wanted.Max.Y, Filter: filter})
	if err != nil {
		tb.Fatal(err)
	}
	return columns, rows
}

func BenchmarkResize(b *testing.B) {
	for _, bm := range sizes {
		img := scene(bm.width, bm.height)
		var pool pixels.Pool
		out := make([]byte, 3*bm.wanted.Dx()*bm.wanted.Dy())
		target := resample.Canvas{Pix: out, Stride: 3 * bm.wanted.Dx()}
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				columns, rows := axes(b, bm.width, bm.height, bm.wanted, resample.Bicubic)
				resample.Resize(img, columns, rows, resample.RowsFirst(columns, rows), target, &pool)
			}
		})
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
			for range b.N {
				imaging.Crop(imaging.Resize(img, 341, 256, imaging.CatmullRom), bm.wanted)
			}
		})
	}
}

func BenchmarkNewAxis(b *testing.B) {
	for _, filter := range []resample.Filter{resample.Bilinear, resample.Bicubic, resample.Lanczos} {
		b.Run("500x375 "+string(filter), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				axes(b, 500, 375, image.Rect(58, 16, 282, 240), filter)
			}
		})
	}
}
