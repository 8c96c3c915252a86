package transform_test

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"runtime"
	"testing"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
	"triptych/shared/oip"
)

// number is an element of a result.
func number(out []byte, element transform.Element, index int) float64 {
	switch element {
	case transform.Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*index:])))
	case transform.Float16:
		return oip.Half(binary.LittleEndian.Uint16(out[2*index:]))
	default:
		return float64(out[index])
	}
}

// Every element, layout and order of channels against the formula, pixel by pixel
// (PRE-02 to PRE-04).
func TestEveryLayout(t *testing.T) {
	const w, h = 7, 5
	img := synthetic(w, h)
	mean, std := [3]float64{0.1, 0.2, 0.3}, [3]float64{0.5, 0.25, 2}
	for _, element := range []transform.Element{transform.Uint8, transform.Float16, transform.Float32} {
		for _, colors := range []transform.Colors{transform.RGB, transform.BGR, transform.Grey} {
			for _, layout := range []transform.Layout{transform.NHWC, transform.NCHW} {
				t.Run(fmt.Sprintf("%s %s %s", element, colors, layout), func(t *testing.T) {
					spec := transform.Spec{
						Resize: transform.Keep, Filter: resample.Bilinear, OutWidth: w, OutHeight: h, Layout: layout, Colors: colors, Element: element,
					}
					if element != transform.Uint8 {
						spec.Normalise = &transform.Normalisation{Scale: 1.0 / 255, Mean: mean, Std: std}
					}
					out := apply(t, spec, img)
					channels := map[transform.Colors][]int{transform.RGB: {0, 1, 2}, transform.BGR: {2, 1, 0}, transform.Grey: {-1}}[colors]
					for i := range w * h {
						for c, sample := range channels {
							want := float64(value(img.Pix[4*i:], sample))
							if element != transform.Uint8 {
								want = (want/255 - mean[c]) / std[c]
							}
							at := i*len(channels) + c
							if layout == transform.NCHW {
								at = c*w*h + i
							}
							exact := map[transform.Element]float64{transform.Float16: 1e-3, transform.Float32: 1e-6}[element]
							if got := number(out, element, at); math.Abs(got-want) > exact*max(math.Abs(want), 1) {
								t.Fatalf("pixel %d, channel %d is %v, want %v", i, c, got, want)
							}
						}
					}
				})
			}
		}
	}
}

// value is a sample, or the luma of a pixel.
func value(rgb []byte, sample int) int {
	if sample >= 0 {
		return int(rgb[sample])
	}
	return (int(rgb[0])*19595 + int(rgb[1])*38470 + int(rgb[2])*7471 + 0x8000) >> 16
}

// The float of a sample is that of torch, for each of the 256: a division by 255
// in float32.
func TestScaleIsADivision(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 256, 1))
	for v := range 256 {
		img.Pix[4*v] = byte(v)
	}
	out := apply(t, transform.Spec{
		Resize: transform.Keep, Filter: resample.Bilinear, OutWidth: 256, OutHeight: 1, Layout: transform.NCHW,
		Normalise: &transform.Normalisation{Scale: 1.0 / 255, Std: [3]float64{1, 1, 1}},
	}, img)
	for v := range 256 {
		if got, want := float(out, v), float64(float32(v)/255); got != want {
			t.Errorf("%d becomes %v, want %v", v, got, want)
		}
	}
}

// Shared memory is somebody's request.
func TestSharedPixelsAreNotChanged(t *testing.T) {
	pix := []byte{10, 20, 30, 40, 50, 60}
	tr, err := transform.New(transform.Spec{
		Resize: transform.Keep, Filter: resample.Bilinear, OutWidth: 2, OutHeight: 1, Layout: transform.NHWC, Colors: transform.Grey,
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tr.Plan(image.Pt(2, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Read(image.Pt(2, 1)); err != nil {
		t.Fatal(err)
	}
	var pool pixels.Pool
	out := make([]byte, tr.Bytes())
	if err := plan.Apply(pixels.Of(pix, 2, 1), &pool, out); err != nil {
		t.Fatal(err)
	}
	if string(pix) != string([]byte{10, 20, 30, 40, 50, 60}) || out[0] != 18 || out[1] != 48 {
		t.Errorf("the pixels are %v, the result %v", pix, out)
	}
}

// planned is a picture of the result's size and a plan that only lays it out.
func planned(tb testing.TB, element transform.Element, layout transform.Layout, colors transform.Colors) (*transform.Transform, *transform.Plan, *pixels.Image) {
	tb.Helper()
	spec := transform.Spec{
		Resize: transform.Keep, Filter: resample.Bilinear, OutWidth: 224, OutHeight: 224, Layout: layout, Colors: colors, Element: element,
	}
	if element != transform.Uint8 {
		spec.Normalise = imagenet(layout).Normalise
	}
	tr, err := transform.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := tr.Plan(image.Pt(224, 224), 1)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := plan.Read(image.Pt(224, 224)); err != nil {
		tb.Fatal(err)
	}
	var pool pixels.Pool
	return tr, plan, pool.Whole(224, 224)
}

// Laying out takes no memory of the size of a picture.
func TestLayingOutAllocatesNothingLarge(t *testing.T) {
	tr, plan, img := planned(t, transform.Float32, transform.NCHW, transform.RGB)
	var pool pixels.Pool
	out := make([]byte, tr.Bytes())
	const runs = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if err := plan.Apply(img, &pool, out); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	// Under the race detector a pool drops a quarter of what it gets.
	if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > 224*224*3/2 {
		t.Errorf("%d bytes each time", each)
	}
}
