package transform_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"testing"

	"triptych/services/preprocess/pixels"
	"triptych/services/preprocess/resample"
	"triptych/services/preprocess/transform"
)

// synthetic is the image that testdata/make_golden.py gives to Pillow.
func synthetic(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			for c := range 3 {
				img.Pix[img.PixOffset(x, y)+c] = byte((x*x*31 + y*y*17 + x*y*7 + c*85) % 251)
			}
		}
	}
	return img
}

// apply runs a Spec on an image.
func apply(tb testing.TB, spec transform.Spec, img *image.NRGBA) []byte {
	tb.Helper()
	tr, err := transform.New(spec)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := applyTurned(tr, img, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// applyTurned runs a Transform on stored pixels.
func applyTurned(tr *transform.Transform, img *image.NRGBA, orientation int) ([]byte, error) {
	var pool pixels.Pool
	size := img.Rect.Size()
	stored := pool.Whole(size.X, size.Y)
	for i := range size.X * size.Y {
		copy(stored.Pix[3*i:][:3], img.Pix[4*i:])
	}
	plan, err := tr.Plan(size, orientation)
	if err != nil {
		return nil, err
	}
	if _, err := plan.Read(size); err != nil {
		return nil, err
	}
	out := make([]byte, tr.Bytes())
	return out, plan.Apply(stored, &pool, out)
}

func TestResizedPixelsEqualPillows(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "resized.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		From, To [2]int
		Filter   resample.Filter
		SHA256   string
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden {
		t.Run(fmt.Sprintf("%s %v to %v", g.Filter, g.From, g.To), func(t *testing.T) {
			out := apply(t, transform.Spec{
				Resize: transform.Exact, Width: g.To[0], Height: g.To[1], OutWidth: g.To[0], OutHeight: g.To[1],
				Filter: g.Filter, Layout: transform.NHWC,
			}, synthetic(g.From[0], g.From[1]))
			if sum := sha256.Sum256(out); hex.EncodeToString(sum[:]) != g.SHA256 {
				t.Error("pixels differ from Pillow's")
			}
		})
	}
}

// A crop must show the very pixels that the whole resized image has there.
func TestCropEqualsTheWhole(t *testing.T) {
	for _, filter := range []resample.Filter{resample.Nearest, resample.Bicubic, resample.Lanczos} {
		for _, size := range []image.Point{{97, 61}, {61, 97}, {30, 200}, {20, 20}} {
			t.Run(fmt.Sprintf("%s %v", filter, size), func(t *testing.T) {
				img := synthetic(size.X, size.Y)
				w, h := 50, 50*size.Y/size.X
				if size.X > size.Y {
					w, h = 50*size.X/size.Y, 50
				}
				whole := apply(t, transform.Spec{
					Resize: transform.Shortest, Size: 50, Filter: filter, Layout: transform.NHWC, OutWidth: w, OutHeight: h,
				}, img)
				const side = 24
				crop := apply(t, transform.Spec{
					Resize: transform.Shortest, Size: 50, Filter: filter, Layout: transform.NHWC, Crop: true, OutWidth: side, OutHeight: side,
				}, img)
				left, top := halfEven(w-side), halfEven(h-side)
				for y := range side {
					at := 3 * ((top+y)*w + left)
					if got, want := crop[3*side*y:3*side*(y+1)], whole[at:at+3*side]; string(got) != string(want) {
						t.Fatalf("row %d differs", y)
					}
				}
			})
		}
	}
}

// halfEven is n/2 rounded half to even, by table rather than by formula.
func halfEven(n int) int { return n/2 + []int{0, 0, 0, 1}[n%4] }
