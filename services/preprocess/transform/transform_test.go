package transform_test

import (
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"strings"
	"testing"

	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
	"triptych/shared/failure"
)

// imagenet is torchvision's Resize(256), CenterCrop(224) and Normalize.
func imagenet(layout transform.Layout) transform.Spec {
	return transform.Spec{
		Resize: transform.Shortest, Size: 256, Filter: resample.Bilinear, Crop: true, OutWidth: 224, OutHeight: 224, Layout: layout,
		Normalise: &transform.Normalisation{
			Scale: 1.0 / 255, Mean: [3]float64{0.485, 0.456, 0.406}, Std: [3]float64{0.229, 0.224, 0.225},
		},
	}
}

func solid(width, height int, color [4]byte) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := 0; i < len(img.Pix); i += 4 {
		copy(img.Pix[i:], color[:])
	}
	return img
}

func float(out []byte, index int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*index:])))
}

var (
	white = [3]float64{2.2489, 2.4286, 2.6400}
	black = [3]float64{-2.1179, -2.0357, -1.8044}
)

// PRE-02, PRE-03 and PRE-06
func TestNormalisationConstants(t *testing.T) {
	for name, tc := range map[string]struct {
		color [4]byte
		want  [3]float64
	}{
		"white":                   {[4]byte{255, 255, 255, 255}, white},
		"black":                   {[4]byte{0, 0, 0, 255}, black},
		"red":                     {[4]byte{255, 0, 0, 255}, [3]float64{white[0], black[1], black[2]}},
		"red, fully transparent":  {[4]byte{255, 0, 0, 0}, [3]float64{white[0], black[1], black[2]}},
		"blue, half transparent":  {[4]byte{0, 0, 255, 128}, [3]float64{black[0], black[1], white[2]}},
		"green is not mixed with": {[4]byte{0, 255, 0, 255}, [3]float64{black[0], white[1], black[2]}},
	} {
		for _, layout := range []transform.Layout{transform.NHWC, transform.NCHW} {
			t.Run(name+" "+string(layout), func(t *testing.T) {
				out := apply(t, imagenet(layout), solid(300, 260, tc.color))
				for i := range 224 * 224 {
					for c := range 3 {
						at := 3*i + c
						if layout == transform.NCHW {
							at = c*224*224 + i
						}
						if got := float(out, at); math.Abs(got-tc.want[c]) > 1e-4 {
							t.Fatalf("pixel %d, color %d is %v, want %v", i, c, got, tc.want[c])
						}
					}
				}
			})
		}
	}
}

// PRE-04
func TestPlanesKeepTheirPlace(t *testing.T) {
	img := solid(448, 448, [4]byte{255, 0, 0, 255})
	for y := range 448 {
		for x := 224; x < 448; x++ {
			copy(img.Pix[img.PixOffset(x, y):], []byte{0, 0, 255})
		}
	}
	out := apply(t, imagenet(transform.NCHW), img)
	for y := range 224 {
		for x := range 224 {
			if x >= 108 && x < 116 {
				continue // the filter mixes both halves
			}
			color := 0
			if x >= 112 {
				color = 2
			}
			if got := float(out, color*224*224+y*224+x); math.Abs(got-white[color]) > 1e-4 {
				t.Fatalf("plane %d at (%d,%d) is %v, want %v", color, x, y, got, white[color])
			}
		}
	}
}

func TestBytesByLayout(t *testing.T) {
	img := synthetic(5, 4)
	spec := transform.Spec{Resize: transform.Keep, Filter: resample.Bilinear, OutWidth: 5, OutHeight: 4, Layout: transform.NHWC}
	pixels := apply(t, spec, img)
	spec.Layout = transform.NCHW
	planes := apply(t, spec, img)
	for i := range 20 {
		for c := range 3 {
			if got, want := planes[c*20+i], pixels[3*i+c]; got != want || want != img.Pix[4*i+c] {
				t.Fatalf("pixel %d, color %d: plane has %d, pixel %d, image %d", i, c, got, want, img.Pix[4*i+c])
			}
		}
	}
}

// The long side is truncated as in torchvision, not rounded (PRE-05).
func TestLongSideIsTruncated(t *testing.T) {
	for _, tc := range []struct{ width, height, wantWidth, wantHeight int }{
		{1000, 667, 383, 256},
		{640, 427, 383, 256},
		{1024, 683, 383, 256},
		{667, 1000, 256, 383},
		{500, 375, 341, 256},
		{256, 300, 256, 300},
		{1, 1, 256, 256},
		{1000, 4, 64000, 256},
		{4, 1000, 256, 64000},
	} {
		t.Run(fmt.Sprintf("%dx%d", tc.width, tc.height), func(t *testing.T) {
			tr, err := transform.New(transform.Spec{
				Resize: transform.Shortest, Size: 256, Filter: resample.Bicubic, OutWidth: 1, OutHeight: 1, Layout: transform.NHWC,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = tr.Plan(image.Pt(tc.width, tc.height), 1)
			want := fmt.Sprintf("is %dx%d after resizing, but the model wants 1x1", tc.wantWidth, tc.wantHeight)
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), want) {
				t.Errorf("got %v, want Invalid with %q", err, want)
			}
		})
	}
}

// Golden offsets of torchvision's CenterCrop(224): half to even (PRE-05).
func TestCropOffsets(t *testing.T) {
	want := map[int]int{
		384: 80, 385: 80, 386: 81, 387: 82, 388: 82, 389: 82, 390: 83, 391: 84, 392: 84,
		393: 84, 394: 85, 395: 86, 396: 86, 397: 86, 398: 87, 399: 88, 400: 88,
		383: 80, 224: 0, 225: 0, 226: 1, 227: 2,
	}
	for width, left := range want {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			img := image.NewNRGBA(image.Rect(0, 0, width, 224))
			for x := range width {
				copy(img.Pix[4*x:], []byte{byte(x), byte(x >> 8), 7, 255})
			}
			out := apply(t, transform.Spec{
				Resize: transform.Keep, Filter: resample.Bilinear, Crop: true, OutWidth: 224, OutHeight: 224, Layout: transform.NHWC,
			}, img)
			if got := int(out[0]) | int(out[1])<<8; got != left {
				t.Errorf("the crop begins at %d, want %d", got, left)
			}
			if got := int(out[3*223]) | int(out[3*223+1])<<8; got != left+223 {
				t.Errorf("the crop ends at %d, want %d", got, left+223)
			}
		})
	}
}

// An image that is smaller than the crop is padded with black on all sides, the
// smaller half before it, as in torchvision.
func TestPadding(t *testing.T) {
	for _, tc := range []struct{ width, height, left, top int }{
		{100, 300, 62, -38}, {101, 100, 61, 62}, {223, 224, 0, 0}, {224, 223, 0, 0}, {222, 221, 1, 1},
	} {
		t.Run(fmt.Sprintf("%dx%d", tc.width, tc.height), func(t *testing.T) {
			out := apply(t, transform.Spec{
				Resize: transform.Keep, Filter: resample.Bilinear, Crop: true, OutWidth: 224, OutHeight: 224, Layout: transform.NHWC,
			}, solid(tc.width, tc.height, [4]byte{9, 9, 9, 255}))
			for y := range 224 {
				for x := range 224 {
					inside := x >= tc.left && x < tc.left+tc.width && y >= tc.top && y < tc.top+tc.height
					if got := out[3*(224*y+x)] == 9; got != inside {
						t.Fatalf("(%d,%d) shows the image: %v, want %v", x, y, got, inside)
					}
				}
			}
		})
	}
}

// PRE-08
func TestDegenerateSizesGiveWholeTensors(t *testing.T) {
	sizes := []image.Point{
		{1, 1}, {2, 2}, {3, 3}, {1, 3}, {3, 1}, {1000, 4}, {4, 1000}, {223, 224}, {224, 223}, {255, 256}, {100, 300}, {1, 32768}, {32768, 1},
	}
	for _, size := range sizes {
		for _, filter := range []resample.Filter{resample.Nearest, resample.Box, resample.Bicubic, resample.Lanczos} {
			t.Run(fmt.Sprintf("%v %s", size, filter), func(t *testing.T) {
				out := apply(t, transform.Spec{
					Resize: transform.Shortest, Size: 256, Filter: filter, Crop: true, OutWidth: 224, OutHeight: 224, Layout: transform.NHWC,
				}, solid(size.X, size.Y, [4]byte{200, 100, 50, 255}))
				for i := 0; i < len(out); i += 3 {
					if [3]byte(out[i:]) != [3]byte{200, 100, 50} {
						t.Fatalf("byte %d is %v, want the image's only color", i, out[i:i+3])
					}
				}
			})
		}
	}
}

// Downscaling is antialiased (PRE-01): stripes of one white column in four become grey.
func TestDownscaleIsAntialiased(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 1024, 1024))
	for i := 0; i < len(img.Pix); i += 16 {
		copy(img.Pix[i:], []byte{255, 255, 255, 255})
	}
	for _, filter := range []resample.Filter{resample.Box, resample.Bilinear} {
		out := apply(t, transform.Spec{
			Resize: transform.Shortest, Size: 256, Filter: filter, OutWidth: 256, OutHeight: 256, Layout: transform.NHWC,
		}, img)
		for x := 2; x < 254; x++ {
			if v := out[3*(256*100+x)]; v < 63 || v > 65 {
				t.Fatalf("%s: column %d is %d, want 64 within 1", filter, x, v)
			}
		}
	}
}

func TestBadSpecs(t *testing.T) {
	good := imagenet(transform.NHWC)
	for name, tc := range map[string]struct {
		change func(*transform.Spec)
		want   string
	}{
		"filter":        {func(s *transform.Spec) { s.Filter = "sinc" }, `unknown filter "sinc"`},
		"layout":        {func(s *transform.Spec) { s.Layout = "HWC" }, `unknown layout "HWC"`},
		"empty result":  {func(s *transform.Spec) { s.OutWidth = 0 }, "the result is 0x224"},
		"shortest zero": {func(s *transform.Spec) { s.Size = 0 }, "the shorter side is 0"},
		"colors":        {func(s *transform.Spec) { s.Colors = "CMYK" }, `unknown colors "CMYK"`},
		"element":       {func(s *transform.Spec) { s.Element = "INT8" }, `unknown element "INT8"`},
		"resize":        {func(s *transform.Spec) { s.Resize = "widest" }, `unknown resize "widest"`},
		"longest, crop": {func(s *transform.Spec) { s.Resize = transform.Longest }, `resize "longest" leaves nothing to crop`},
		"exact zero":    {func(s *transform.Spec) { s.Resize, s.Width = transform.Exact, 0 }, "the size is 0x0"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := good
			tc.change(&spec)
			if _, err := transform.New(spec); failure.KindOf(err) != failure.Invalid || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want Invalid with %q", err, tc.want)
			}
		})
	}
}

// Without antialiasing, as OpenCV resizes, the stripes are gone or all there is
// (PRE-01): the filter is a property of each model.
func TestAliasedDownscale(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 1024, 1024))
	for i := 0; i < len(img.Pix); i += 16 {
		copy(img.Pix[i:], []byte{255, 255, 255, 255})
	}
	out := apply(t, transform.Spec{
		Resize: transform.Shortest, Size: 256, Filter: resample.Bilinear, Aliased: true, OutWidth: 256, OutHeight: 256, Layout: transform.NHWC,
	}, img)
	for x := range 256 {
		if v := out[3*(256*100+x)]; v != 0 {
			t.Fatalf("column %d is %d, want 0", x, v)
		}
	}
}
