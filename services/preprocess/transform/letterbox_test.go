package transform_test

import (
	"bytes"
	"fmt"
	"image"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
)

// boxed is a letterbox of 64x48.
func boxed(change func(*transform.Spec)) transform.Spec {
	s := transform.Spec{
		Resize: transform.Longest, Filter: resample.Bilinear, OutWidth: 64, OutHeight: 48, Layout: transform.NHWC,
		Padding: [3]byte{1, 2, 3},
	}
	if change != nil {
		change(&s)
	}
	return s
}

// placed is where an image of a size gets to.
func placed(tb testing.TB, spec transform.Spec, size image.Point, orientation int) transform.Placement {
	tb.Helper()
	tr, err := transform.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := tr.Plan(size, orientation)
	if err != nil {
		tb.Fatal(err)
	}
	return plan.Placement()
}

// What ultralytics' LetterBox((48, 64)) says of these sizes (new_unpad, left, top,
// right, bottom). Sides are rounded half to even and are never 0.
func TestLetterboxGeometry(t *testing.T) {
	for _, tc := range []struct {
		width, height            int
		newWidth, newHeight      int
		left, top, right, bottom int
	}{
		{640, 480, 64, 48, 0, 0, 0, 0},
		{640, 427, 64, 43, 0, 2, 0, 3},
		{427, 640, 32, 48, 16, 0, 16, 0},
		{100, 75, 64, 48, 0, 0, 0, 0},
		{99, 75, 63, 48, 0, 0, 1, 0},
		{1000, 3, 64, 1, 0, 23, 0, 24},
		{3, 1000, 1, 48, 31, 0, 32, 0},
		{1, 1, 48, 48, 8, 0, 8, 0},
		{128, 49, 64, 24, 0, 12, 0, 12}, // 24.5
		{128, 51, 64, 26, 0, 11, 0, 11}, // 25.5
	} {
		t.Run(fmt.Sprintf("%dx%d", tc.width, tc.height), func(t *testing.T) {
			want := transform.Placement{
				Size:   image.Pt(tc.width, tc.height),
				ScaleX: float64(tc.newWidth) / float64(tc.width), ScaleY: float64(tc.newHeight) / float64(tc.height),
				Left: tc.left, Top: tc.top, Right: tc.right, Bottom: tc.bottom,
			}
			if diff := cmp.Diff(want, placed(t, boxed(nil), image.Pt(tc.width, tc.height), 1)); diff != "" {
				t.Error(diff)
			}
			corner := boxed(func(s *transform.Spec) { s.Corner = true })
			want.Left, want.Top, want.Right, want.Bottom = 0, 0, tc.left+tc.right, tc.top+tc.bottom
			if diff := cmp.Diff(want, placed(t, corner, image.Pt(tc.width, tc.height), 1)); diff != "" {
				t.Errorf("in the corner: %s", diff)
			}
			if diff := cmp.Diff(want, placed(t, corner, image.Pt(tc.height, tc.width), 6)); diff != "" {
				t.Errorf("turned: %s", diff)
			}
		})
	}
}

func TestShrinkOnly(t *testing.T) {
	spec := boxed(func(s *transform.Spec) { s.ShrinkOnly = true })
	small := placed(t, spec, image.Pt(20, 10), 1)
	if small.ScaleX != 1 || small.ScaleY != 1 || small.Left != 22 || small.Top != 19 {
		t.Errorf("a small image is at %+v", small)
	}
	if large := placed(t, spec, image.Pt(640, 480), 1); large.ScaleX != 0.1 {
		t.Errorf("a large image is at %+v", large)
	}
}

// Padding is all that is not the image, in the color and order that the model
// wants.
func TestPaddingHasItsColor(t *testing.T) {
	for _, colors := range []transform.Colors{transform.RGB, transform.BGR, transform.Grey} {
		for _, layout := range []transform.Layout{transform.NHWC, transform.NCHW} {
			t.Run(fmt.Sprintf("%s %s", colors, layout), func(t *testing.T) {
				spec := boxed(func(s *transform.Spec) { s.Colors, s.Layout, s.ShrinkOnly = colors, layout, true })
				out := apply(t, spec, solid(10, 10, [4]byte{200, 100, 50, 255}))
				inside := map[transform.Colors][]byte{transform.RGB: {200, 100, 50}, transform.BGR: {50, 100, 200}, transform.Grey: {124}}[colors]
				n := len(inside)
				for i := range 64 * 48 {
					want := []byte{1, 2, 3}[:n]
					if x, y := i%64, i/64; x >= 27 && x < 37 && y >= 19 && y < 29 {
						want = inside
					}
					got := out[n*i:][:n]
					if layout == transform.NCHW {
						got = nil
						for c := range n {
							got = append(got, out[c*64*48+i])
						}
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("pixel %d is %v, want %v", i, got, want)
					}
				}
			})
		}
	}
}

// Pads must never say false of a spec that pads.
func TestPads(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*transform.Spec)
		want   bool
	}{
		"letterbox":         {func(*transform.Spec) {}, true},
		"no crop":           {func(s *transform.Spec) { s.Resize, s.Size = transform.Shortest, 10 }, false},
		"crop of as is":     {func(s *transform.Spec) { s.Resize, s.Crop = transform.Keep, true }, true},
		"shortest, enough":  {func(s *transform.Spec) { s.Resize, s.Size, s.Crop = transform.Shortest, 64, true }, false},
		"shortest, too few": {func(s *transform.Spec) { s.Resize, s.Size, s.Crop = transform.Shortest, 63, true }, true},
		"exact, enough":     {func(s *transform.Spec) { s.Resize, s.Width, s.Height, s.Crop = transform.Exact, 64, 48, true }, false},
		"exact, too few":    {func(s *transform.Spec) { s.Resize, s.Width, s.Height, s.Crop = transform.Exact, 64, 47, true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := boxed(tc.change).Pads(); got != tc.want {
				t.Errorf("it says %v", got)
			}
		})
	}
}

// What Pillow's draft(size) chooses for JPEG: min(width // w, height // h), rounded
// down to 8, 4, 2 or 1.
func TestReduction(t *testing.T) {
	for _, tc := range []struct{ width, height, want int }{
		{4000, 3000, 8}, {2048, 2048, 8}, {2047, 2048, 4}, {1023, 1100, 2}, {512, 512, 2}, {511, 511, 1}, {100, 100, 1}, {5000, 300, 1},
	} {
		t.Run(fmt.Sprintf("%dx%d", tc.width, tc.height), func(t *testing.T) {
			tr, err := transform.New(imagenet(transform.NCHW)) // 256 on the shorter side
			if err != nil {
				t.Fatal(err)
			}
			for orientation, size := range map[int]image.Point{1: {X: tc.width, Y: tc.height}, 6: {X: tc.height, Y: tc.width}} {
				plan, err := tr.Plan(size, orientation)
				if err != nil {
					t.Fatal(err)
				}
				if got := plan.Reduction([]int{2, 4, 8}); got != tc.want {
					t.Errorf("orientation %d: %d, want %d", orientation, got, tc.want)
				}
				if got := plan.Reduction(nil); got != 1 {
					t.Errorf("%d without an offer", got)
				}
			}
		})
	}
}
