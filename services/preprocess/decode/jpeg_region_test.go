//go:build cgo && !portable

package decode_test

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
)

// checkRegion wants the pixels of a region to be those that the whole has there.
func checkRegion(tb testing.TB, data []byte, whole *pixels.Image, v decode.View) {
	tb.Helper()
	part, err := view(data, v)
	if err != nil {
		tb.Fatalf("%v of %v by %d: %v", v.Region, whole.Size, v.Reduce, err)
	}
	samePart(tb, part, whole, v)
}

// samePart compares what has been decoded of a view with the whole.
func samePart(tb testing.TB, part, whole *pixels.Image, v decode.View) {
	tb.Helper()
	if part.Bounds != v.Region || part.Size != whole.Size {
		tb.Fatalf("got %v of %v, want %v of %v", part.Bounds, part.Size, v.Region, whole.Size)
	}
	for y := v.Region.Min.Y; y < v.Region.Max.Y; y++ {
		want := whole.Row(y)[pixels.Samples*v.Region.Min.X : pixels.Samples*v.Region.Max.X]
		if got := part.Row(y); !bytes.Equal(got, want) {
			tb.Fatalf("%v of %v by %d: row %d differs from the whole's", v.Region, whole.Size, v.Reduce, y)
		}
	}
}

// anyRegion is a part of a picture that is seldom large.
func anyRegion(random *rand.Rand, size image.Point) image.Rectangle {
	side := func(n int) (int, int) {
		from := random.IntN(n)
		most := n - from
		if random.IntN(2) == 0 {
			most = min(most, 20)
		}
		return from, from + 1 + random.IntN(most)
	}
	var r image.Rectangle
	r.Min.X, r.Max.X = side(size.X)
	r.Min.Y, r.Max.Y = side(size.Y)
	return r
}

func TestJPEGRegionEqualsTheWhole(t *testing.T) {
	random, samples := rand.New(rand.NewPCG(1, 2)), jpegSamples(t)
	for _, golden := range readJPEGGolden(t) {
		if golden.Refused != "" {
			continue
		}
		t.Run(fmt.Sprintf("%s by %d", golden.File, golden.Reduce), func(t *testing.T) {
			data := samples[golden.File]
			whole, err := view(data, decode.View{Reduce: golden.Reduce})
			if err != nil {
				t.Fatal(err)
			}
			for range 12 {
				checkRegion(t, data, whole, decode.View{Reduce: golden.Reduce, Region: anyRegion(random, whole.Size)})
			}
		})
	}
}

// The outermost columns and rows are where neighbors are missing.
func TestJPEGRegionsAtEveryEdge(t *testing.T) {
	samples := jpegSamples(t)
	for _, file := range []string{"s_420.jpg", "s_422.jpg", "s_440.jpg", "s_2x2_1x1_1x2.jpg", "s_1x4_1x2_1x1.jpg", "p_420.jpg", "a_420.jpg", "17x33_420.jpg", "restarts_rows_420.jpg"} {
		t.Run(file, func(t *testing.T) {
			data := samples[file]
			whole, err := view(data, decode.View{})
			if err != nil {
				t.Fatal(err)
			}
			for x := range whole.Size.X {
				checkRegion(t, data, whole, decode.View{Reduce: 1, Region: image.Rect(x, 3, x+1, 9)})
			}
			for y := range whole.Size.Y {
				checkRegion(t, data, whole, decode.View{Reduce: 1, Region: image.Rect(3, y, 9, y+1)})
				checkRegion(t, data, whole, decode.View{Reduce: 1, Region: image.Rect(0, y, whole.Size.X, whole.Size.Y)})
			}
		})
	}
}

// What is passed over of a large picture is done in steps.
func TestJPEGRegionFarDown(t *testing.T) {
	data := photo(t, 900, 4000)
	whole, err := view(data, decode.View{})
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range []int{1, 1500, 1552, 1553, 3120, 3998} {
		checkRegion(t, data, whole, decode.View{Reduce: 1, Region: image.Rect(401, y, 500, y+2)})
	}
}
