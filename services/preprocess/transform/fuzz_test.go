package transform_test

import (
	"image"
	"testing"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
)

// drawn takes choices from the bytes of the fuzzer.
type drawn []byte

func (d *drawn) upTo(n int) int {
	if len(*d) == 0 {
		return 0
	}
	v := int((*d)[0]) % n
	*d = (*d)[1:]
	return v
}

func pick[T any](d *drawn, from ...T) T { return from[d.upTo(len(from))] }

func (d *drawn) spec() transform.Spec {
	s := transform.Spec{
		Resize:     pick(d, transform.Shortest, transform.Longest, transform.Exact, transform.Keep),
		Size:       d.upTo(40),
		Width:      d.upTo(60),
		Height:     d.upTo(60),
		ShrinkOnly: pick(d, false, true),
		Corner:     pick(d, false, true),
		Filter: pick(d, resample.Nearest, resample.Box, resample.Bilinear, resample.Hamming, resample.Bicubic, resample.Lanczos,
			resample.OpenCVLinear, resample.Filter("none")),
		Aliased:   pick(d, false, true),
		Crop:      pick(d, false, true),
		Padding:   [3]byte{byte(d.upTo(256)), byte(d.upTo(256)), byte(d.upTo(256))},
		OutWidth:  d.upTo(40),
		OutHeight: d.upTo(40),
		Layout:    pick(d, transform.NHWC, transform.NCHW),
		Colors:    pick(d, transform.RGB, transform.BGR, transform.Grey),
		Element:   pick(d, transform.Uint8, transform.Float16, transform.Float32),
	}
	if pick(d, true, false) {
		s.Normalise = &transform.Normalisation{Scale: 1.0 / 255, Std: [3]float64{1, 1, 1}}
	}
	return s
}

// FuzzTransform makes any spec meet any small picture: the result is written to its
// last byte and is the same however the memory looked before, and where the
// picture is said to be adds up.
func FuzzTransform(f *testing.F) {
	f.Add([]byte{0, 25, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 24, 24, 0, 0, 2, 0}, uint8(30), uint8(20), uint8(6))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 4, 0, 0, 1, 2, 3, 32, 24, 1, 2, 1, 1}, uint8(1), uint8(200), uint8(5))
	f.Add([]byte{2, 0, 30, 20, 0, 0, 5, 1, 1, 9, 9, 9, 33, 39, 1, 1, 0, 1}, uint8(90), uint8(3), uint8(8))
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 33, 39, 0, 1, 2, 1}, uint8(3), uint8(90), uint8(2))
	f.Fuzz(func(t *testing.T, choices []byte, width, height, orientation uint8) {
		if width == 0 || height == 0 {
			return
		}
		d := drawn(choices)
		spec := d.spec()
		tr, err := transform.New(spec)
		if err != nil {
			return
		}
		stored := image.Pt(int(width), int(height))
		plan, err := tr.Plan(stored, int(orientation)%8+1)
		if err != nil {
			return
		}
		wantSane(t, spec, plan.Placement())
		region, err := plan.Read(stored)
		if err != nil {
			t.Fatal(err)
		}
		if region.Empty() || !region.In(image.Rectangle{Max: stored}) {
			t.Fatalf("region %v of a picture of %v", region, stored)
		}
		first, second := written(t, tr, plan, region, stored, 0x55), written(t, tr, plan, region, stored, 0xaa)
		if string(first) != string(second) {
			t.Error("the result is not all written")
		}
	})
}

// written is the result in memory that was full of something.
func written(t *testing.T, tr *transform.Transform, plan *transform.Plan, region image.Rectangle, stored image.Point, was byte) []byte {
	t.Helper()
	var pool pixels.Pool
	dirty, give := pool.Bytes(1 << 16)
	for i := range dirty {
		dirty[i] = was
	}
	give()
	img := pool.Image(stored, region) // no more than what was asked for
	for i := range img.Pix {
		img.Pix[i] = byte(i * 7)
	}
	out := make([]byte, tr.Bytes())
	for i := range out {
		out[i] = was
	}
	if err := plan.Apply(img, &pool, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func wantSane(t *testing.T, spec transform.Spec, p transform.Placement) {
	t.Helper()
	width, height := spec.OutWidth-p.Left-p.Right, spec.OutHeight-p.Top-p.Bottom
	if width < 1 || height < 1 || p.ScaleX <= 0 || p.ScaleY <= 0 ||
		int(p.ScaleX*float64(p.Size.X)+0.5) != width || int(p.ScaleY*float64(p.Size.Y)+0.5) != height {
		t.Fatalf("%+v makes %dx%d", p, width, height)
	}
	if max(p.Left, p.Top, p.Right, p.Bottom) > 0 && !spec.Pads() {
		t.Fatalf("%+v is padded by a spec that says it does not", p)
	}
	if spec.Resize == transform.Longest && min(p.Left, p.Top, p.Right, p.Bottom) < 0 {
		t.Fatalf("%+v cuts off what was to fit", p)
	}
}
